// refused
// low: %n
// policy: motif.unroll = "full"
// fault: loop
%x = memref.load %a[%i] : memref<16xf32>
%t = arith.addf %acc, %x : f32
scf.yield %t : f32

// accepted
// low: %n
// high: %end
// policy: motif.unroll = "full"
// before: %end = arith.addi %n, %c1 : index
%x = memref.load %a[%i] : memref<16xf32>
%t = arith.addf %acc, %x : f32
scf.yield %t : f32
