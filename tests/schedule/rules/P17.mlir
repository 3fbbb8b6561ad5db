// refused
%id = memref.load %ids[%i] : memref<16xi64>
%j = arith.index_cast %id : i64 to index
%q = arith.cmpi slt, %j, %c2 : index
%m = arith.select %q, %a, %b : memref<16xf32>  HERE
%x = memref.load %m[%i] : memref<16xf32>
%k = "motif.fptoi"(%acc) <{signed}> : (f32) -> i64
%size = arith.index_cast %k : i64 to index
"motif.extents"(%m, %size) : (memref<16xf32>, index) -> ()
%t = arith.addf %acc, %x : f32
scf.yield %t : f32

// accepted
// high: %n
%q = arith.cmpi slt, %i, %c2 : index
%m = arith.select %q, %a, %b : memref<16xf32>
%x = memref.load %m[%i] : memref<16xf32>
%t = arith.addf %acc, %x : f32
scf.yield %t : f32
