// refused
// policy: motif.lead = 1 : i64
// fault: loop
%x = memref.load %a[%i] : memref<16xf32>
%t = arith.addf %acc, %x : f32
scf.yield %t : f32

// accepted
// policy: motif.pipeline = 1 : i64, motif.lead = 1 : i64
%x = memref.load %a[%i] : memref<16xf32>
%t = arith.addf %acc, %x : f32
scf.yield %t : f32
