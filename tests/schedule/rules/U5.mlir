// refused
// policy: motif.unroll = -1 : i64
// fault: loop
%x = memref.load %a[%i] : memref<16xf32>
%t = arith.addf %acc, %x : f32
scf.yield %t : f32

// refused: word
// policy: motif.unroll = "most"
// fault: loop
%x = memref.load %a[%i] : memref<16xf32>
%t = arith.addf %acc, %x : f32
scf.yield %t : f32

// accepted
// policy: motif.unroll = 0 : i64
%x = memref.load %a[%i] : memref<16xf32>
%t = arith.addf %acc, %x : f32
scf.yield %t : f32
