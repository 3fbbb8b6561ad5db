// refused
// policy: motif.pipeline = 2 : i64, motif.lead = 1 : i64
// fault: loop
%x = memref.load %a[%i] : memref<16xf32>
%t = arith.addf %acc, %x : f32
scf.yield %t : f32

// accepted
// high: %n
// policy: motif.pipeline = 2 : i64, motif.lead = 1 : i64
%id = memref.load %ids[%i] : memref<16xi64>
%j = arith.index_cast %id : i64 to index
%x = memref.load %a[%j] : memref<16xf32>
%t = arith.addf %acc, %x : f32
scf.yield %t : f32
