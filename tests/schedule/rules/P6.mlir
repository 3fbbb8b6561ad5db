// refused
// fault: loop
%t = arith.addf %acc, %acc : f32
scf.yield %t : f32

// refused: workgroup memory only
// fault: loop
%x = memref.load %tile[%i] : memref<16xf32, 3 : i32>
%t = arith.addf %acc, %x : f32
scf.yield %t : f32

// accepted
%w = memref.load %a[%c0] : memref<16xf32>
%t = arith.addf %acc, %w : f32
scf.yield %t : f32
