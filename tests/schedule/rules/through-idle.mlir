// refused
// policy: motif.pipeline = 3 : i64, motif.through = "p"
// before: %p = arith.mulf %f0, %f0 : f32
%x = memref.load %a[%i] : memref<16xf32>
"motif.ahead"(%p) : (f32) -> ()  HERE
%s = arith.mulf %x, %p : f32
%t = arith.addf %acc, %s : f32
scf.yield %t : f32

// refused: the counter
// policy: motif.pipeline = 3 : i64, motif.through = "p"
%x = memref.load %a[%i] : memref<16xf32>
"motif.ahead"(%i) : (index) -> ()  HERE
%t = arith.addf %acc, %x : f32
scf.yield %t : f32

// accepted: of the counter alone
// high: %n
// policy: motif.pipeline = 3 : i64, motif.through = "p"
%x = memref.load %a[%i] : memref<16xf32>
%p = arith.addi %i, %c2 : index
"motif.ahead"(%p) : (index) -> ()
%k = arith.index_cast %p : index to i32
%f = arith.sitofp %k : i32 to f32
%s = arith.mulf %f, %x : f32
%t = arith.addf %acc, %s : f32
scf.yield %t : f32

// accepted: a read, which runs ahead anyway
// high: %n
// policy: motif.pipeline = 3 : i64, motif.through = "p"
%x = memref.load %a[%i] : memref<16xf32>
"motif.ahead"(%x) : (f32) -> ()
%t = arith.addf %acc, %x : f32
scf.yield %t : f32

// accepted: nothing is named any more
// high: %n
// policy: motif.pipeline = 3 : i64, motif.through = "p"
%x = memref.load %a[%i] : memref<16xf32>
%t = arith.addf %acc, %x : f32
scf.yield %t : f32
