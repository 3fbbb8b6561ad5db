// refused
// policy: motif.pipeline = 3 : i64, motif.through = "p"
%x = memref.load %a[%i] : memref<16xf32>
%p = arith.mulf %x, %x fastmath<contract> : f32
"motif.ahead"(%p) : (f32) -> ()  HERE
%t = arith.addf %acc, %p fastmath<contract> : f32
scf.yield %t : f32

// refused: past a sign and an element
// policy: motif.pipeline = 3 : i64, motif.through = "p"
%x = vector.load %a[%i] : memref<16xf32>, vector<2xf32>
%m = arith.mulf %x, %x fastmath<contract> : vector<2xf32>
%p = arith.negf %m : vector<2xf32>
"motif.ahead"(%p) : (vector<2xf32>) -> ()  HERE
%e = vector.extract %p[1] : f32 from vector<2xf32>
%t = arith.subf %acc, %e fastmath<contract> : f32
scf.yield %t : f32

// accepted: the sum may not be rounded with it
// high: %n
// policy: motif.pipeline = 3 : i64, motif.through = "p"
%x = memref.load %a[%i] : memref<16xf32>
%p = arith.mulf %x, %x fastmath<contract> : f32
"motif.ahead"(%p) : (f32) -> ()
%t = arith.addf %acc, %p : f32
scf.yield %t : f32

// accepted: the product is queued for another use, its sum runs ahead
// high: %n
// policy: motif.pipeline = 3 : i64, motif.through = "p"
%x = memref.load %a[%i] : memref<16xf32>
%m = arith.mulf %x, %x fastmath<contract> : f32
%p = arith.addf %m, %x fastmath<contract> : f32
"motif.ahead"(%p) : (f32) -> ()
%s = arith.mulf %p, %m fastmath<contract> : f32
%t = arith.subf %acc, %s fastmath<contract> : f32
scf.yield %t : f32

// accepted: the sum runs ahead as well
// high: %n
// policy: motif.pipeline = 3 : i64, motif.through = "p"
%x = memref.load %a[%i] : memref<16xf32>
%m = arith.mulf %x, %x fastmath<contract> : f32
%p = arith.addf %m, %x fastmath<contract> : f32
"motif.ahead"(%p) : (f32) -> ()
%t = arith.subf %acc, %p fastmath<contract> : f32
scf.yield %t : f32
