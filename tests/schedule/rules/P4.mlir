// refused
// step: %huge
// before: %huge = arith.constant 4611686018427387904 : index
// fault: loop
%x = memref.load %a[%i] : memref<16xf32>
%t = arith.addf %acc, %x : f32
scf.yield %t : f32

// accepted
// step: %huge
// before: %huge = arith.constant 4611686018427387903 : index
%x = memref.load %a[%i] : memref<16xf32>
%t = arith.addf %acc, %x : f32
scf.yield %t : f32
