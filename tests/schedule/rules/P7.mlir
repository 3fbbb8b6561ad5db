// refused
%x = memref.load %a[%i] : memref<16xf32>  HERE
scf.yield %acc : f32

// accepted
%x = memref.load %a[%i] : memref<16xf32>
scf.yield %x : f32
