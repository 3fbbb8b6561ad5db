// refused
// policy: motif.pipeline = 65535 : i64
// fault: loop
%x = memref.load %a[%i] : memref<16xf32>
%y = memref.load %b[%i] : memref<16xf32>
%z = arith.mulf %x, %y : f32
%t = arith.addf %acc, %z : f32
scf.yield %t : f32

// accepted
// policy: motif.pipeline = 65535 : i64
%x = memref.load %a[%i] : memref<16xf32>
%t = arith.addf %acc, %x : f32
scf.yield %t : f32
