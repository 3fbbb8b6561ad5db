// refused
%x = memref.load %a[%i] : memref<16xf32>
"gpu.barrier"() {motif.scope = "global"} : () -> ()  HERE
%t = arith.addf %acc, %x : f32
scf.yield %t : f32

// accepted
%x = memref.load %a[%i] : memref<16xf32>
"gpu.barrier"() : () -> ()
%t = arith.addf %acc, %x : f32
scf.yield %t : f32
