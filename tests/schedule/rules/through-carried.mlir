// refused
// policy: motif.pipeline = 3 : i64, motif.through = "p"
%x = memref.load %a[%i] : memref<16xf32>
%s = arith.mulf %x, %acc : f32
%p = arith.mulf %s, %x : f32
"motif.ahead"(%p) : (f32) -> ()  HERE
%t = arith.addf %acc, %p : f32
scf.yield %t : f32

// refused: another name of what is carried
// policy: motif.pipeline = 3 : i64, motif.through = "p"
%x = memref.load %a[%i] : memref<16xf32>
"motif.ahead"(%acc) : (f32) -> ()  HERE
%t = arith.addf %acc, %x : f32
scf.yield %t : f32

// refused: a conditional that updates
// policy: motif.pipeline = 3 : i64, motif.through = "p"
%q = arith.cmpi slt, %i, %c2 : index
%x = memref.load %a[%i] : memref<16xf32>
%t, %p = scf.if %q -> (f32, f32) {
  %s = arith.addf %acc, %x : f32
  scf.yield %s, %x : f32, f32
} else {
  scf.yield %acc, %f0 : f32, f32
}
"motif.ahead"(%p) : (f32) -> ()  HERE
%u = arith.addf %t, %p : f32
scf.yield %u : f32

// refused: made of what such a conditional reads
// policy: motif.pipeline = 3 : i64, motif.through = "p"
%q = arith.cmpi slt, %i, %c2 : index
%t, %y = scf.if %q -> (f32, f32) {
  %x = memref.load %a[%i] : memref<16xf32>
  %s = arith.addf %acc, %x : f32
  scf.yield %s, %x : f32, f32
} else {
  scf.yield %acc, %f0 : f32, f32
}
%p = arith.mulf %y, %y : f32
"motif.ahead"(%p) : (f32) -> ()  HERE
%u = arith.addf %t, %p : f32
scf.yield %u : f32

// refused: the guard is carried
// policy: motif.pipeline = 3 : i64, motif.through = "p"
%x = memref.load %a[%i] : memref<16xf32>
%q = arith.cmpf olt, %acc, %x : f32
%t = scf.if %q -> (f32) {
  %p = arith.mulf %x, %x : f32
  "motif.ahead"(%p) : (f32) -> ()  HERE
  %s = arith.addf %acc, %p : f32
  scf.yield %s : f32
} else {
  scf.yield %acc : f32
}
scf.yield %t : f32

// refused: an inner loop from what is carried
// policy: motif.pipeline = 3 : i64, motif.through = "p"
%x = memref.load %a[%i] : memref<16xf32>
%p = scf.for %j = %c0 to %c2 step %c1 iter_args(%r = %acc) -> (f32) {
  %s = arith.mulf %r, %x : f32
  scf.yield %s : f32
}
"motif.ahead"(%p) : (f32) -> ()  HERE
scf.yield %p : f32

// accepted
// high: %n
// policy: motif.pipeline = 3 : i64, motif.through = "p"
%x = memref.load %a[%i] : memref<16xf32>
%s = arith.mulf %x, %x : f32
%p = arith.mulf %s, %x : f32
"motif.ahead"(%p) : (f32) -> ()
%t = arith.addf %acc, %p : f32
scf.yield %t : f32

// accepted: an inner loop of its own
// high: %n
// policy: motif.pipeline = 3 : i64, motif.through = "p"
%x = memref.load %a[%i] : memref<16xf32>
%p = scf.for %j = %c0 to %c7 step %c1 iter_args(%r = %x) -> (f32) {
  %y = memref.load %b[%j] : memref<16xf32>
  %s = arith.mulf %r, %y : f32
  scf.yield %s : f32
} {motif.pipeline = 2 : i64}
"motif.ahead"(%p) : (f32) -> ()
%t = arith.addf %acc, %p : f32
scf.yield %t : f32

// accepted: what is carried goes round a let of the iteration before
// high: %n
// policy: motif.pipeline = 2 : i64, motif.through = "p", motif.unroll = 3 : i64, motif.order = "recurrence"
%x = memref.load %a[%i] : memref<16xf32>
%p = arith.mulf %x, %x : f32
"motif.ahead"(%p) : (f32) -> ()
%t = arith.subf %p, %acc : f32
scf.yield %t : f32
