// refused: a store to the same buffer
// high: %n
// policy: motif.unroll = 1 : i64
%y = memref.load %b[%i] : memref<16xf32>
memref.store %y, %a[%c1] : memref<16xf32>
%x = memref.load %a[%i] {motif.early} : memref<16xf32>  HERE
%t = arith.addf %acc, %x : f32
scf.yield %t : f32

// refused: in a nested loop before it
// high: %n
// policy: motif.unroll = 1 : i64
scf.for %u = %c0 to %c2 step %c1 {
  memref.store %f0, %a[%u] : memref<16xf32>
}
%x = memref.load %a[%i] {motif.early} : memref<16xf32>  HERE
%t = arith.addf %acc, %x : f32
scf.yield %t : f32

// refused: a barrier before a read of workgroup memory
// policy: motif.unroll = 1 : i64
%y = memref.load %b[%i] : memref<16xf32>
memref.store %y, %tile[%lane] : memref<16xf32, 3 : i32>
"gpu.barrier"() : () -> ()
%x = memref.load %tile[%c1] {motif.early} : memref<16xf32, 3 : i32>  HERE
%t = arith.addf %acc, %x : f32
scf.yield %t : f32

// refused: a barrier that orders buffers
// policy: motif.unroll = 1 : i64
"gpu.barrier"() {motif.scope = "global"} : () -> ()
%x = memref.load %a[%i] {motif.early} : memref<16xf32>  HERE
%t = arith.addf %acc, %x : f32
scf.yield %t : f32

// refused: a conditional around the read
// high: %n
// policy: motif.unroll = 1 : i64
%q = arith.cmpi slt, %i, %base : index
memref.store %f0, %b[%i] : memref<16xf32>
%x = scf.if %q -> (f32) {
  %y = memref.load %b[%i] : memref<16xf32>
  scf.yield %y : f32
} else {
  scf.yield %f0 : f32
} {motif.early}  HERE
%t = arith.addf %acc, %x : f32
scf.yield %t : f32

// accepted: past a store to another buffer and a barrier of workgroup memory
// policy: motif.unroll = 1 : i64
%y = memref.load %b[%i] : memref<16xf32>
%z = arith.mulf %y, %acc : f32
memref.store %z, %b[%c1] : memref<16xf32>
"gpu.barrier"() : () -> ()
%j = arith.addi %i, %c2 : index
%x = memref.load %a[%j] {motif.early} : memref<16xf32>
%t = arith.addf %z, %x : f32
scf.yield %t : f32

// accepted: the address is known behind the store
// high: %n
// policy: motif.unroll = 1 : i64
memref.store %acc, %a[%c1] : memref<16xf32>
%id = memref.load %ids[%i] : memref<16xi64>
%j = arith.index_cast %id : i64 to index
%y = memref.load %b[%i] : memref<16xf32>
%z = arith.mulf %y, %acc : f32
%x = memref.load %a[%j] {motif.early} : memref<16xf32>
%t = arith.addf %z, %x : f32
scf.yield %t : f32

// accepted: the copies of an unrolled loop
// high: %n
// policy: motif.unroll = 3 : i64, motif.order = "interleaved"
%y = memref.load %b[%i] : memref<16xf32>
%z = arith.mulf %y, %acc : f32
%x = memref.load %a[%i] {motif.early} : memref<16xf32>
%t = arith.addf %z, %x : f32
memref.store %t, %a[%i] : memref<16xf32>
scf.yield %t : f32

// accepted: read ahead
// high: %n
// policy: motif.pipeline = 3 : i64
%y = memref.load %b[%i] : memref<16xf32>
%z = arith.mulf %y, %acc : f32
%x = memref.load %a[%i] {motif.early} : memref<16xf32>
%t = arith.addf %z, %x : f32
scf.yield %t : f32
