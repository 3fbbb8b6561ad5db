// refused: order
// policy: motif.order = "recurrence"
// fault: loop
%x = memref.load %a[%i] : memref<16xf32>
%t = arith.addf %acc, %x : f32
scf.yield %t : f32

// accepted: order
// policy: motif.unroll = 1 : i64, motif.order = "recurrence"
%x = memref.load %a[%i] : memref<16xf32>
%t = arith.addf %acc, %x : f32
scf.yield %t : f32

// refused
// policy: motif.unroll = "full", motif.tail = "cut"
// fault: loop
%x = memref.load %a[%i] : memref<16xf32>
%t = arith.addf %acc, %x : f32
scf.yield %t : f32

// refused: alone
// policy: motif.tail = "cut"
// fault: loop
%x = memref.load %a[%i] : memref<16xf32>
%t = arith.addf %acc, %x : f32
scf.yield %t : f32

// accepted
// high: %n
// policy: motif.unroll = 3 : i64, motif.tail = "cut"
%x = memref.load %a[%i] : memref<16xf32>
%t = arith.addf %acc, %x : f32
scf.yield %t : f32
