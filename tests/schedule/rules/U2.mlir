// refused
// high: %many
// policy: motif.unroll = "full"
// before: %many = arith.constant 65537 : index
// fault: loop
%x = memref.load %a[%i] : memref<16xf32>
%t = arith.addf %acc, %x : f32
scf.yield %t : f32

// accepted
// policy: motif.unroll = "full", motif.order = "recurrence"
%x = memref.load %a[%i] : memref<16xf32>
%t = arith.addf %acc, %x : f32
scf.yield %t : f32
