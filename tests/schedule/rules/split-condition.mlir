// refused: equality
// high: %n
// policy: motif.unroll = 1 : i64
%q = arith.cmpi eq, %i, %base : index
%t = scf.if %q -> (f32) {
  %x = memref.load %a[%i] : memref<16xf32>
  %s = arith.addf %acc, %x : f32
  scf.yield %s : f32
} else {
  scf.yield %acc : f32
} {motif.split}  HERE
scf.yield %t : f32

// refused: does not follow the counter
// high: %n
// policy: motif.unroll = 1 : i64
%q = arith.cmpi slt, %base, %n : index
%t = scf.if %q -> (f32) {
  %x = memref.load %a[%i] : memref<16xf32>
  %s = arith.addf %acc, %x : f32
  scf.yield %s : f32
} else {
  scf.yield %acc : f32
} {motif.split}  HERE
scf.yield %t : f32

// refused: carried
// high: %n
// policy: motif.unroll = 1 : i64
%q = arith.cmpf olt, %acc, %f0 : f32
%t = scf.if %q -> (f32) {
  %x = memref.load %a[%i] : memref<16xf32>
  %s = arith.addf %acc, %x : f32
  scf.yield %s : f32
} else {
  scf.yield %acc : f32
} {motif.split}  HERE
scf.yield %t : f32

// refused: read in the loop
// high: %n
// policy: motif.unroll = 1 : i64
%id = memref.load %ids[%i] : memref<16xi64>
%j = arith.index_cast %id : i64 to index
%q = arith.cmpi slt, %i, %j : index
%t = scf.if %q -> (f32) {
  %x = memref.load %a[%i] : memref<16xf32>
  %s = arith.addf %acc, %x : f32
  scf.yield %s : f32
} else {
  scf.yield %acc : f32
} {motif.split}  HERE
scf.yield %t : f32

// refused: two directions
// high: %n
// policy: motif.unroll = 1 : i64
%q1 = arith.cmpi slt, %i, %base : index
%q2 = arith.cmpi sgt, %i, %c1 : index
%q = arith.andi %q1, %q2 : i1
%t = scf.if %q -> (f32) {
  %x = memref.load %a[%i] : memref<16xf32>
  %s = arith.addf %acc, %x : f32
  scf.yield %s : f32
} else {
  scf.yield %acc : f32
} {motif.split}  HERE
scf.yield %t : f32

// accepted
// high: %n
// policy: motif.unroll = 1 : i64
%j = arith.addi %i, %c2 : index
%q = arith.cmpi slt, %j, %base : index
%t = scf.if %q -> (f32) {
  %x = memref.load %a[%i] : memref<16xf32>
  %s = arith.addf %acc, %x : f32
  scf.yield %s : f32
} else {
  %m = arith.mulf %acc, %acc : f32
  scf.yield %m : f32
} {motif.split}
scf.yield %t : f32

// accepted: two parts of one direction, the bound computed in the loop
// high: %n
// policy: motif.pipeline = 2 : i64
%h = arith.minsi %base, %n : index
%q1 = arith.cmpi sge, %i, %h : index
%q2 = arith.cmpi slt, %c1, %i : index
%q = arith.ori %q1, %q2 : i1
%x = memref.load %a[%i] : memref<16xf32>
%t = scf.if %q -> (f32) {
  %s = arith.addf %acc, %x : f32
  scf.yield %s : f32
} else {
  %m = arith.subf %acc, %x : f32
  scf.yield %m : f32
} {motif.split}
scf.yield %t : f32
