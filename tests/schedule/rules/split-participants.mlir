// refused: a barrier
// policy: motif.unroll = 1 : i64
"gpu.barrier"() : () -> ()
%q = arith.cmpi slt, %i, %lane : index
%t = scf.if %q -> (f32) {
  %x = memref.load %a[%i] : memref<16xf32>
  %s = arith.addf %acc, %x : f32
  scf.yield %s : f32
} else {
  scf.yield %acc : f32
} {motif.split}  HERE
scf.yield %t : f32

// refused: a collective
// policy: motif.unroll = 1 : i64
%x = memref.load %a[%i] : memref<16xf32>
%all = "motif.subgroup_reduce"(%x) <{kind = "add"}> : (f32) -> f32
%q = arith.cmpi sge, %i, %lane : index
%t = scf.if %q -> (f32) {
  %s = arith.addf %acc, %all : f32
  scf.yield %s : f32
} else {
  scf.yield %acc : f32
} {motif.split}  HERE
scf.yield %t : f32

// accepted: all agree
// high: %n
// policy: motif.unroll = 1 : i64
"gpu.barrier"() : () -> ()
%x = memref.load %a[%i] : memref<16xf32>
%all = "motif.subgroup_reduce"(%x) <{kind = "max"}> : (f32) -> f32
%q = arith.cmpi slt, %i, %base : index
%t = scf.if %q -> (f32) {
  %s = arith.addf %acc, %all : f32
  scf.yield %s : f32
} else {
  scf.yield %acc : f32
} {motif.split}
scf.yield %t : f32
