// refused
%x = scf.for %u = %c0 to %c2 step %c1 iter_args(%p = %f0) -> (f32) {
  %y = memref.load %a[%u] : memref<16xf32>
  memref.store %y, %tile[%u] : memref<16xf32, 3 : i32>  HERE
  %s = arith.addf %p, %y : f32
  scf.yield %s : f32
} {motif.unroll = 2 : i64}
%t = arith.addf %acc, %x : f32
scf.yield %t : f32

// refused: interleaved
%x = scf.for %u = %c0 to %c2 step %c1 iter_args(%p = %f0) -> (f32) {
  %y = memref.load %a[%u] : memref<16xf32>
  memref.store %y, %tile[%u] : memref<16xf32, 3 : i32>  HERE
  %s = arith.addf %p, %y : f32
  scf.yield %s : f32
} {motif.unroll = "full", motif.order = "interleaved"}
%t = arith.addf %acc, %x : f32
scf.yield %t : f32

// accepted
%x = scf.for %u = %c0 to %c2 step %c1 iter_args(%p = %f0) -> (f32) {
  %y = memref.load %a[%u] : memref<16xf32>
  memref.store %y, %tile[%u] : memref<16xf32, 3 : i32>
  %s = arith.addf %p, %y : f32
  scf.yield %s : f32
} {motif.unroll = "full"}
%t = arith.addf %acc, %x : f32
scf.yield %t : f32
