// refused
%x = memref.load %a[%i] : memref<16xf32>
memref.store %x, %b[%i] : memref<16xf32>  HERE
%t = arith.addf %acc, %x : f32
scf.yield %t : f32

// refused: same buffer
%x = memref.load %a[%i] : memref<16xf32>
memref.store %x, %a[%c0] : memref<16xf32>  HERE
%t = arith.addf %acc, %x : f32
scf.yield %t : f32

// refused: nested
%x = memref.load %a[%i] : memref<16xf32>
%q = arith.cmpi slt, %i, %c2 : index
scf.if %q {
  memref.store %x, %b[%i] : memref<16xf32>  HERE
}
%t = arith.addf %acc, %x : f32
scf.yield %t : f32

// accepted
// high: %n
%x = memref.load %a[%i] : memref<16xf32>
memref.store %x, %slot[%c0] : memref<4xf32, 5 : i32>
%t = arith.addf %acc, %x : f32
scf.yield %t : f32
