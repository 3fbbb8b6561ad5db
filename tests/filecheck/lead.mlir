// Rows are read one iteration ahead, the ids that name them two.
// PASS: pipeline
func.func @routed(%count: index {motif.range = array<i64: 0, 64>}, %in: memref<64x32xf32> {motif.noalias}, %ids: memref<64xi64>,
               %out: memref<32xf32> {motif.noalias}) attributes {motif.kernel, motif.workgroup_size = array<i64: 32, 1, 1>} {
  %lane = "gpu.thread_id"() <{dimension = #gpu<dim x>}> {motif.range = array<i64: 0, 31>} : () -> index
  %f0 = arith.constant 0.0 : f32
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c8 = arith.constant 8 : index
  %sum = scf.for %i = %c0 to %c8 step %c1 iter_args(%acc = %f0) -> (f32) {
    %id = memref.load %ids[%i] : memref<64xi64>
    %row = arith.index_cast %id : i64 to index
    %x = memref.load %in[%row, %lane] : memref<64x32xf32>
    %next = arith.addf %acc, %x : f32
    scf.yield %next : f32
  } {motif.loop = "i", motif.pipeline = 2 : i64, motif.lead = 1 : i64}
  memref.store %sum, %out[%lane] : memref<32xf32>
  func.return
}
// CHECK-LABEL: func.func @routed
// CHECK: %lane = "gpu.thread_id"() <{dimension = #gpu<dim x>}> {motif.range = array<i64: 0, 31>} : () -> index
// CHECK-NEXT: %f0 = arith.constant 0.000000e+00 : f32
// CHECK-NEXT: %c0 = arith.constant 0 : index
// CHECK-NEXT: %c1 = arith.constant 1 : index
// CHECK-NEXT: %c8 = arith.constant 8 : index
// CHECK-NEXT: %0 = arith.constant 1 : index
// CHECK-NEXT: %id = memref.load %ids[%c0] : memref<64xi64>
// CHECK-NEXT: %row = arith.index_cast %id : i64 to index
// CHECK-NEXT: %x = memref.load %in[%row, %lane] : memref<64x32xf32>
// CHECK-NEXT: %1 = arith.constant 2 : index
// CHECK-NEXT: %id_1 = memref.load %ids[%0] : memref<64xi64>
// CHECK-NEXT: %2, %3, %4 = scf.for %i = %1 to %c8 step %c1 iter_args(%acc = %f0, %x_1 = %x, %id_2 = %id_1) -> (f32, f32, i64) {
// CHECK-NEXT: %id_3 = memref.load %ids[%i] : memref<64xi64>
// CHECK-NEXT: %row_1 = arith.index_cast %id_2 : i64 to index
// CHECK-NEXT: %x_2 = memref.load %in[%row_1, %lane] : memref<64x32xf32>
// CHECK-NEXT: %next = arith.addf %acc, %x_1 : f32
// CHECK-NEXT: scf.yield %next, %x_2, %id_3 : f32, f32, i64
// CHECK-NEXT: } {motif.loop = "i", motif.form = "steady"}
// CHECK-NEXT: %row_2 = arith.index_cast %4 : i64 to index
// CHECK-NEXT: %x_3 = memref.load %in[%row_2, %lane] : memref<64x32xf32>
// CHECK-NEXT: %next_1 = arith.addf %2, %3 : f32
// CHECK-NEXT: %next_2 = arith.addf %next_1, %x_3 : f32
// CHECK-NEXT: memref.store %next_2, %out[%lane] : memref<32xf32>
// CHECK-NEXT: func.return
// CHECK: row ordinal=0 loop=i outcome=pipelined depth=2 queue_records=1 values_per_record=1 read_count=2 lead=1
// CHECK-NEXT: row ordinal=0 loop=i position=0 op=memref.load stage=producer iteration_lookahead=2
// CHECK-NEXT: row ordinal=0 loop=i position=1 op=arith.index_cast stage=producer iteration_lookahead=1
// CHECK-NEXT: row ordinal=0 loop=i position=2 op=memref.load stage=producer iteration_lookahead=1
// CHECK-NEXT: row ordinal=0 loop=i position=3 op=arith.addf stage=consumer iteration_lookahead=0
