// accepted
// high: %n
// policy: motif.unroll = 2 : i64
%x = memref.load %a[%i] : memref<16xf32>
%t = arith.addf %acc, %x : f32
scf.yield %t : f32
