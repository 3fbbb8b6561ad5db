// refused
// policy: motif.pipeline = 3 : i64, motif.through = "p"
%x = memref.load %a[%i] : memref<16xf32>
%r = "motif.subgroup_reduce"(%x) <{kind = "add"}> : (f32) -> f32
%p = arith.mulf %r, %x : f32
"motif.ahead"(%p) : (f32) -> ()  HERE
%t = arith.addf %acc, %p : f32
scf.yield %t : f32

// refused: a read of workgroup memory itself
// policy: motif.pipeline = 3 : i64, motif.through = "p"
%x = memref.load %a[%i] : memref<16xf32>
memref.store %x, %tile[%c0] : memref<16xf32, 3 : i32>
%p = memref.load %tile[%c0] : memref<16xf32, 3 : i32>
"motif.ahead"(%p) : (f32) -> ()  HERE
%t = arith.addf %acc, %p : f32
scf.yield %t : f32

// refused: private memory in a conditional
// policy: motif.pipeline = 3 : i64, motif.through = "p"
%x = memref.load %a[%i] : memref<16xf32>
memref.store %x, %slot[%c0] : memref<4xf32, 5 : i32>
%q = arith.cmpi slt, %i, %c2 : index
%p = scf.if %q -> (f32) {
  %y = memref.load %slot[%c0] : memref<4xf32, 5 : i32>
  scf.yield %y : f32
} else {
  scf.yield %x : f32
}
"motif.ahead"(%p) : (f32) -> ()  HERE
%t = arith.addf %acc, %p : f32
scf.yield %t : f32

// accepted
// policy: motif.pipeline = 3 : i64, motif.through = "p"
%x = memref.load %a[%i] : memref<16xf32>
%p = arith.mulf %x, %x : f32
"motif.ahead"(%p) : (f32) -> ()
%r = "motif.subgroup_reduce"(%p) <{kind = "add"}> : (f32) -> f32
memref.store %p, %slot[%c0] : memref<4xf32, 5 : i32>
%y = memref.load %slot[%c0] : memref<4xf32, 5 : i32>
%s = arith.addf %r, %y : f32
%t = arith.addf %acc, %s : f32
scf.yield %t : f32
