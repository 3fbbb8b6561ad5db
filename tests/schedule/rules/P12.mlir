// refused: address
%k = "motif.fptoi"(%acc) <{signed}> : (f32) -> i64
%j = arith.index_cast %k : i64 to index
%x = memref.load %a[%j] : memref<16xf32>  HERE
%t = arith.addf %acc, %x : f32
scf.yield %t : f32

// refused: guard
%q = arith.cmpf olt, %acc, %f0 : f32
%x = scf.if %q -> (f32) {
  %y = memref.load %a[%i] : memref<16xf32>
  scf.yield %y : f32
} else {
  scf.yield %f0 : f32
}  HERE
%t = arith.addf %acc, %x : f32
scf.yield %t : f32

// refused: inner bound
%k = "motif.fptoi"(%acc) <{signed}> : (f32) -> i64
%j = arith.index_cast %k : i64 to index
%x = scf.for %u = %c0 to %j step %c1 iter_args(%p = %f0) -> (f32) {
  %y = memref.load %a[%u] : memref<16xf32>
  %s = arith.addf %p, %y : f32
  scf.yield %s : f32
}  HERE
%t = arith.addf %acc, %x : f32
scf.yield %t : f32

// refused: inner initial value
%t = scf.for %u = %c0 to %c2 step %c1 iter_args(%p = %acc) -> (f32) {
  %y = memref.load %a[%u] : memref<16xf32>
  %s = arith.addf %p, %y : f32
  scf.yield %s : f32
}  HERE
scf.yield %t : f32

// refused: captured
%x = scf.for %u = %c0 to %c2 step %c1 iter_args(%p = %f0) -> (f32) {
  %y = memref.load %a[%u] : memref<16xf32>
  %z = arith.mulf %y, %acc : f32
  %s = arith.addf %p, %z : f32
  scf.yield %s : f32
}  HERE
%t = arith.addf %acc, %x : f32
scf.yield %t : f32

// refused: promise
%id = memref.load %ids[%i] : memref<16xi64>
%j = arith.index_cast %id : i64 to index
%k = "motif.fptoi"(%acc) <{signed}> : (f32) -> i64
%m = arith.index_cast %k : i64 to index
%q = arith.cmpi sge, %j, %m : index
"motif.assume"(%q) : (i1) -> ()  HERE
%x = memref.load %a[%j] : memref<16xf32>
%t = arith.addf %acc, %x : f32
scf.yield %t : f32

// refused: both branches
%q = arith.cmpi slt, %i, %c2 : index
%t = scf.if %q -> (f32) {
  %y = memref.load %a[%i] : memref<16xf32>
  %s = arith.addf %acc, %y : f32
  scf.yield %s : f32
} else {
  %y = memref.load %b[%i] : memref<16xf32>
  %s = arith.addf %acc, %y : f32
  scf.yield %s : f32
}  HERE
scf.yield %t : f32

// accepted: conditional computes an address
// high: %n
%q = arith.cmpi slt, %i, %c2 : index
%j = scf.if %q -> (index) {
  scf.yield %i : index
} else {
  scf.yield %c0 : index
}
%x = memref.load %a[%j] : memref<16xf32>
%t = arith.addf %acc, %x : f32
scf.yield %t : f32

// accepted: guarded update
// high: %n
%q = arith.cmpi slt, %i, %c2 : index
%t = scf.if %q -> (f32) {
  %y = memref.load %a[%i] : memref<16xf32>
  %s = arith.addf %acc, %y : f32
  scf.yield %s : f32
} else {
  scf.yield %acc : f32
}
scf.yield %t : f32

// accepted: else reads
// high: %n
%q = arith.cmpi slt, %i, %c2 : index
%t = scf.if %q -> (f32) {
  scf.yield %acc : f32
} else {
  %y = memref.load %a[%i] : memref<16xf32>
  %s = arith.addf %acc, %y : f32
  scf.yield %s : f32
}
scf.yield %t : f32

// accepted: both branches read alone
// high: %n
%q = arith.cmpi slt, %i, %c2 : index
%x = scf.if %q -> (f32) {
  %y = memref.load %a[%i] : memref<16xf32>
  scf.yield %y : f32
} else {
  %y = memref.load %b[%i] : memref<16xf32>
  scf.yield %y : f32
}
%t = arith.addf %acc, %x : f32
scf.yield %t : f32

// accepted: inner reduction
// high: %n
%x = scf.for %u = %c0 to %i step %c1 iter_args(%p = %f0) -> (f32) {
  %y = memref.load %a[%u] : memref<16xf32>
  %s = arith.addf %p, %y : f32
  scf.yield %s : f32
}
%t = arith.addf %acc, %x : f32
scf.yield %t : f32

// accepted: promise
// high: %n
%id = memref.load %ids[%i] : memref<16xi64>
%j = arith.index_cast %id : i64 to index
%q = arith.cmpi sge, %j, %c0 : index
"motif.assume"(%q) : (i1) -> ()
%x = memref.load %a[%j] : memref<16xf32>
%t = arith.addf %acc, %x : f32
scf.yield %t : f32

// accepted: guarded update with what was computed from carried state before
// high: %n
%q = arith.cmpi slt, %i, %c2 : index
%u = arith.mulf %acc, %f0 : f32
%t = scf.if %q -> (f32) {
  %y = memref.load %a[%i] : memref<16xf32>
  %s = arith.addf %u, %y : f32
  scf.yield %s : f32
} else {
  scf.yield %f0 : f32
}
scf.yield %t : f32

// accepted: inner initial value of a loop that is expanded first
// high: %n
%t = scf.for %u = %c0 to %c2 step %c1 iter_args(%p = %acc) -> (f32) {
  %v = arith.addi %i, %u : index
  %y = memref.load %a[%v] : memref<16xf32>
  %s = arith.addf %p, %y : f32
  scf.yield %s : f32
} {motif.unroll = "full"}
scf.yield %t : f32

// accepted: captured by a loop that is expanded first
// high: %n
%x = scf.for %u = %c0 to %c2 step %c1 iter_args(%p = %f0) -> (f32) {
  %y = memref.load %a[%u] : memref<16xf32>
  %z = arith.mulf %y, %acc : f32
  %s = arith.addf %p, %z : f32
  scf.yield %s : f32
} {motif.unroll = "full"}
%t = arith.addf %acc, %x : f32
scf.yield %t : f32

// accepted: a guard around an inner loop that is expanded first
// high: %n
%q = arith.cmpi slt, %i, %c2 : index
%t = scf.if %q -> (f32) {
  %r = scf.for %u = %c0 to %c2 step %c1 iter_args(%p = %acc) -> (f32) {
    %v = arith.addi %i, %u : index
    %y = memref.load %a[%v] : memref<16xf32>
    %s = arith.addf %p, %y : f32
    scf.yield %s : f32
  } {motif.unroll = "full"}
  scf.yield %r : f32
} else {
  scf.yield %acc : f32
}
scf.yield %t : f32

// accepted: inner initial value that is made of carried state
// high: %n
%m = arith.mulf %acc, %acc : f32
%t = scf.for %u = %c0 to %c2 step %c1 iter_args(%p = %m) -> (f32) {
  %v = arith.addi %i, %u : index
  %y = memref.load %a[%v] : memref<16xf32>
  %s = arith.addf %p, %y : f32
  scf.yield %s : f32
} {motif.unroll = "full"}
scf.yield %t : f32

// accepted: two loops inside of each other that are expanded first
// high: %n
%t = scf.for %u = %c0 to %c2 step %c1 iter_args(%p = %acc) -> (f32) {
  %r = scf.for %w = %c0 to %c2 step %c1 iter_args(%o = %p) -> (f32) {
    %v = arith.addi %i, %w : index
    %y = memref.load %a[%v] : memref<16xf32>
    %s = arith.addf %o, %y : f32
    scf.yield %s : f32
  } {motif.unroll = "full"}
  scf.yield %r : f32
} {motif.unroll = "full"}
scf.yield %t : f32

// refused: inner initial value of a loop that is expanded in another order
%t = scf.for %u = %c0 to %c2 step %c1 iter_args(%p = %acc) -> (f32) {
  %y = memref.load %a[%u] : memref<16xf32>
  %s = arith.addf %p, %y : f32
  scf.yield %s : f32
} {motif.unroll = "full", motif.order = "interleaved"}  HERE
scf.yield %t : f32
