// refused
// policy: motif.unroll = 2 : i64, motif.order = "random"
// fault: loop
%x = memref.load %a[%i] : memref<16xf32>
%t = arith.addf %acc, %x : f32
scf.yield %t : f32

// accepted
// high: %n
// policy: motif.unroll = 3 : i64, motif.order = "recurrence", motif.tail = "guard"
%x = memref.load %a[%i] : memref<16xf32>
%t = arith.addf %acc, %x : f32
scf.yield %t : f32
