// refused
// step: %base
// policy: motif.unroll = 2 : i64
// fault: loop
%x = memref.load %a[%i] : memref<16xf32>
%t = arith.addf %acc, %x : f32
scf.yield %t : f32

// accepted
// step: %c2
// policy: motif.unroll = 2 : i64
%x = memref.load %a[%i] : memref<16xf32>
%t = arith.addf %acc, %x : f32
scf.yield %t : f32
