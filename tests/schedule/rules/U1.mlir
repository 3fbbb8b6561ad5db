// refused
// high: %n
// policy: motif.unroll = "full"
// fault: loop
%x = memref.load %a[%i] : memref<16xf32>
%t = arith.addf %acc, %x : f32
scf.yield %t : f32

// accepted
// low: %n
// high: %end
// policy: motif.unroll = "full", motif.order = "interleaved"
// before: %end = arith.addi %n, %c2 : index
%x = memref.load %a[%i] : memref<16xf32>
%t = arith.addf %acc, %x : f32
scf.yield %t : f32
