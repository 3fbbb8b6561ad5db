// refused
// policy: motif.through = "p"
// fault: loop
%x = memref.load %a[%i] : memref<16xf32>
%p = arith.mulf %x, %x : f32
"motif.ahead"(%p) : (f32) -> ()
%t = arith.addf %acc, %p : f32
scf.yield %t : f32

// accepted: depth 1, where nothing runs ahead, not even what could not
// policy: motif.pipeline = 1 : i64, motif.through = "p"
%x = memref.load %a[%i] : memref<16xf32>
%p = arith.mulf %x, %acc : f32
"motif.ahead"(%p) : (f32) -> ()
%t = arith.addf %acc, %p : f32
scf.yield %t : f32
