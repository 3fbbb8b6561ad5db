// refused
// policy: motif.pipeline = 3 : i64, motif.through = "p"
%x = memref.load %a[%i] : memref<16xf32>
%q = arith.cmpi slt, %i, %c2 : index
%t = scf.if %q -> (f32) {
  %p = arith.mulf %x, %x : f32
  "motif.ahead"(%p) : (f32) -> ()  HERE
  %s = arith.addf %acc, %p : f32
  scf.yield %s : f32
} else {
  %y = memref.load %b[%i] : memref<16xf32>
  %s = arith.addf %acc, %y : f32
  scf.yield %s : f32
}
scf.yield %t : f32

// refused: the name in both
// policy: motif.pipeline = 3 : i64, motif.through = "p"
%x = memref.load %a[%i] : memref<16xf32>
%q = arith.cmpi slt, %i, %c2 : index
%t = scf.if %q -> (f32) {
  %p = arith.mulf %x, %x : f32
  "motif.ahead"(%p) : (f32) -> ()  HERE
  %s = arith.addf %acc, %p : f32
  scf.yield %s : f32
} else {
  %p1 = arith.subf %x, %f0 : f32
  "motif.ahead"(%p1) : (f32) -> ()
  %s = arith.addf %acc, %p1 : f32
  scf.yield %s : f32
}
scf.yield %t : f32

// accepted
// high: %n
// policy: motif.pipeline = 3 : i64, motif.through = "p"
%x = memref.load %a[%i] : memref<16xf32>
%q = arith.cmpi slt, %i, %c2 : index
%t = scf.if %q -> (f32) {
  %p = arith.mulf %x, %x : f32
  "motif.ahead"(%p) : (f32) -> ()
  %s = arith.addf %acc, %p : f32
  scf.yield %s : f32
} else {
  scf.yield %acc : f32
}
scf.yield %t : f32

// accepted: the branch that reads, under two guards, lead and copies
// high: %n
// policy: motif.pipeline = 2 : i64, motif.lead = 1 : i64, motif.through = "p", motif.unroll = 2 : i64
%id = memref.load %ids[%i] : memref<16xi64>
%q = arith.cmpi slt, %c2, %i : index
%t = scf.if %q -> (f32) {
  %j = arith.index_cast %id : i64 to index
  %in = arith.cmpi slt, %j, %c7 : index
  %s = scf.if %in -> (f32) {
    %x = memref.load %a[%j] : memref<16xf32>
    %p = arith.mulf %x, %x : f32
    "motif.ahead"(%p) : (f32) -> ()
    %u = arith.addf %acc, %p : f32
    scf.yield %u : f32
  } else {
    %v = arith.negf %acc : f32
    scf.yield %v : f32
  }
  scf.yield %s : f32
} else {
  scf.yield %acc : f32
}
scf.yield %t : f32

// accepted: both branches of a conditional that goes ahead whole
// high: %n
// policy: motif.pipeline = 3 : i64, motif.through = "p"
%x = memref.load %a[%i] : memref<16xf32>
%q = arith.cmpi slt, %i, %c2 : index
%y = scf.if %q -> (f32) {
  %p = arith.mulf %x, %x : f32
  "motif.ahead"(%p) : (f32) -> ()
  scf.yield %p : f32
} else {
  %p1 = arith.subf %f0, %x : f32
  "motif.ahead"(%p1) : (f32) -> ()
  scf.yield %p1 : f32
}
%t = arith.addf %acc, %y : f32
scf.yield %t : f32
