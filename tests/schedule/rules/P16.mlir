// refused: atomic
%x = memref.load %a[%i] : memref<16xf32>
%old = "memref.atomic_rmw"(%x, %b, %i) <{kind = 0 : i64}> : (f32, memref<16xf32>, index) -> f32  HERE
%t = arith.addf %acc, %x : f32
scf.yield %t : f32

// refused
%x = memref.load %a[%i] : memref<16xf32>
"motif.fence"() : () -> ()  HERE
%t = arith.addf %acc, %x : f32
scf.yield %t : f32

// refused: unknown memory
// before: %odd = memref.alloc() {motif.name = "odd"} : memref<16xf32, 9 : i32>
%x = memref.load %odd[%i] : memref<16xf32, 9 : i32>  HERE
%y = memref.load %a[%i] : memref<16xf32>
%t = arith.addf %acc, %x : f32
scf.yield %t : f32

// accepted
// policy: motif.pipeline = 1 : i64
%x = memref.load %a[%i] : memref<16xf32>
"motif.fence"() : () -> ()
%t = arith.addf %acc, %x : f32
scf.yield %t : f32
