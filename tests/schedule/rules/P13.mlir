// refused: collective
%r = "motif.subgroup_reduce"(%i) <{kind = "max"}> : (index) -> index
%x = memref.load %a[%r] : memref<16xf32>  HERE
%t = arith.addf %acc, %x : f32
scf.yield %t : f32

// refused: workgroup read
%w = memref.load %tile[%i] : memref<16xf32, 3 : i32>
%k = "motif.fptoi"(%w) <{signed}> : (f32) -> i64
%j = arith.index_cast %k : i64 to index
%x = memref.load %a[%j] : memref<16xf32>  HERE
%t = arith.addf %acc, %x : f32
scf.yield %t : f32

// accepted
// high: %n
%id = memref.load %ids[%i] : memref<16xi64>
%j = arith.index_cast %id : i64 to index
%x = memref.load %a[%j] : memref<16xf32>
%t = arith.addf %acc, %x : f32
scf.yield %t : f32
