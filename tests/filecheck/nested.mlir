// The inner loop is rewritten first; the outer loop takes all of it ahead: its three loads count, one value is queued.
// PASS: pipeline
func.func @inner_first(%count: index {motif.range = array<i64: 0, 64>}, %in: memref<64x32xf32> {motif.noalias},
               %out: memref<32xf32> {motif.noalias}) attributes {motif.kernel, motif.workgroup_size = array<i64: 32, 1, 1>} {
  %lane = "gpu.thread_id"() <{dimension = #gpu<dim x>}> {motif.range = array<i64: 0, 31>} : () -> index
  %f0 = arith.constant 0.0 : f32
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %sum = scf.for %i = %c0 to %count step %c1 iter_args(%acc = %f0) -> (f32) {
    %part = scf.for %u = %c0 to %i step %c1 iter_args(%p = %f0) -> (f32) {
      %x = memref.load %in[%u, %lane] : memref<64x32xf32>
      %q = arith.addf %p, %x : f32
      scf.yield %q : f32
    } {motif.loop = "u", motif.pipeline = 2 : i64}
    %next = arith.addf %acc, %part : f32
    scf.yield %next : f32
  } {motif.loop = "i", motif.pipeline = 2 : i64}
  memref.store %sum, %out[%lane] : memref<32xf32>
  func.return
}
// CHECK-LABEL: func.func @inner_first
// CHECK: %lane = "gpu.thread_id"() <{dimension = #gpu<dim x>}> {motif.range = array<i64: 0, 31>} : () -> index
// CHECK-NEXT: %f0 = arith.constant 0.000000e+00 : f32
// CHECK-NEXT: %c0 = arith.constant 0 : index
// CHECK-NEXT: %c1 = arith.constant 1 : index
// CHECK-NEXT: %0 = arith.constant 1 : index
// CHECK-NEXT: %1 = arith.cmpi slt, %0, %count : index
// CHECK-NEXT: %sum = scf.if %1 -> (f32) {
// CHECK-NEXT: %2 = arith.constant 1 : index
// CHECK-NEXT: %3 = arith.cmpi slt, %2, %c0 : index
// CHECK-NEXT: %part = scf.if %3 -> (f32) {
// CHECK-NEXT: %x = memref.load %in[%c0, %lane] : memref<64x32xf32>
// CHECK-NEXT: %4, %5 = scf.for %u = %2 to %c0 step %c1 iter_args(%p = %f0, %x_1 = %x) -> (f32, f32) {
// CHECK-NEXT: %x_2 = memref.load %in[%u, %lane] : memref<64x32xf32>
// CHECK-NEXT: %q = arith.addf %p, %x_1 : f32
// CHECK-NEXT: scf.yield %q, %x_2 : f32, f32
// CHECK-NEXT: } {motif.loop = "u", motif.form = "steady"}
// CHECK-NEXT: %q_1 = arith.addf %4, %5 : f32
// CHECK-NEXT: scf.yield %q_1 : f32
// CHECK-NEXT: } else {
// CHECK-NEXT: %part_1 = scf.for %u_1 = %c0 to %c0 step %c1 iter_args(%p_1 = %f0) -> (f32) {
// CHECK-NEXT: %x_3 = memref.load %in[%u_1, %lane] : memref<64x32xf32>
// CHECK-NEXT: %q_2 = arith.addf %p_1, %x_3 : f32
// CHECK-NEXT: scf.yield %q_2 : f32
// CHECK-NEXT: } {motif.loop = "u", motif.form = "serial"}
// CHECK-NEXT: scf.yield %part_1 : f32
// CHECK: %6, %7 = scf.for %i = %0 to %count step %c1 iter_args(%acc = %f0, %part_2 = %part) -> (f32, f32) {
// CHECK-NEXT: %8 = arith.constant 1 : index
// CHECK-NEXT: %9 = arith.cmpi slt, %8, %i : index
// CHECK-NEXT: %part_3 = scf.if %9 -> (f32) {
// CHECK-NEXT: %x_4 = memref.load %in[%c0, %lane] : memref<64x32xf32>
// CHECK-NEXT: %10, %11 = scf.for %u_2 = %8 to %i step %c1 iter_args(%p_2 = %f0, %x_5 = %x_4) -> (f32, f32) {
// CHECK-NEXT: %x_6 = memref.load %in[%u_2, %lane] : memref<64x32xf32>
// CHECK-NEXT: %q_3 = arith.addf %p_2, %x_5 : f32
// CHECK-NEXT: scf.yield %q_3, %x_6 : f32, f32
// CHECK-NEXT: } {motif.loop = "u", motif.form = "steady"}
// CHECK-NEXT: %q_4 = arith.addf %10, %11 : f32
// CHECK-NEXT: scf.yield %q_4 : f32
// CHECK-NEXT: } else {
// CHECK-NEXT: %part_4 = scf.for %u_3 = %c0 to %i step %c1 iter_args(%p_3 = %f0) -> (f32) {
// CHECK-NEXT: %x_7 = memref.load %in[%u_3, %lane] : memref<64x32xf32>
// CHECK-NEXT: %q_5 = arith.addf %p_3, %x_7 : f32
// CHECK-NEXT: scf.yield %q_5 : f32
// CHECK-NEXT: } {motif.loop = "u", motif.form = "serial"}
// CHECK-NEXT: scf.yield %part_4 : f32
// CHECK: %next = arith.addf %acc, %part_2 : f32
// CHECK-NEXT: scf.yield %next, %part_3 : f32, f32
// CHECK-NEXT: } {motif.loop = "i", motif.form = "steady"}
// CHECK-NEXT: %next_1 = arith.addf %6, %7 : f32
// CHECK-NEXT: scf.yield %next_1 : f32
// CHECK-NEXT: } else {
// CHECK-NEXT: %sum_1 = scf.for %i_1 = %c0 to %count step %c1 iter_args(%acc_1 = %f0) -> (f32) {
// CHECK-NEXT: %12 = arith.constant 1 : index
// CHECK-NEXT: %13 = arith.cmpi slt, %12, %i_1 : index
// CHECK-NEXT: %part_5 = scf.if %13 -> (f32) {
// CHECK-NEXT: %x_8 = memref.load %in[%c0, %lane] : memref<64x32xf32>
// CHECK-NEXT: %14, %15 = scf.for %u_4 = %12 to %i_1 step %c1 iter_args(%p_4 = %f0, %x_9 = %x_8) -> (f32, f32) {
// CHECK-NEXT: %x_10 = memref.load %in[%u_4, %lane] : memref<64x32xf32>
// CHECK-NEXT: %q_6 = arith.addf %p_4, %x_9 : f32
// CHECK-NEXT: scf.yield %q_6, %x_10 : f32, f32
// CHECK-NEXT: } {motif.loop = "u", motif.form = "steady"}
// CHECK-NEXT: %q_7 = arith.addf %14, %15 : f32
// CHECK-NEXT: scf.yield %q_7 : f32
// CHECK-NEXT: } else {
// CHECK-NEXT: %part_6 = scf.for %u_5 = %c0 to %i_1 step %c1 iter_args(%p_5 = %f0) -> (f32) {
// CHECK-NEXT: %x_11 = memref.load %in[%u_5, %lane] : memref<64x32xf32>
// CHECK-NEXT: %q_8 = arith.addf %p_5, %x_11 : f32
// CHECK-NEXT: scf.yield %q_8 : f32
// CHECK-NEXT: } {motif.loop = "u", motif.form = "serial"}
// CHECK-NEXT: scf.yield %part_6 : f32
// CHECK: %next_2 = arith.addf %acc_1, %part_5 : f32
// CHECK-NEXT: scf.yield %next_2 : f32
// CHECK-NEXT: } {motif.loop = "i", motif.form = "serial"}
// CHECK-NEXT: scf.yield %sum_1 : f32
// CHECK: memref.store %sum, %out[%lane] : memref<32xf32>
// CHECK-NEXT: func.return
// CHECK: row ordinal=0 loop=u outcome=pipelined depth=2 queue_records=1 values_per_record=1 read_count=1
// CHECK-NEXT: row ordinal=1 loop=i outcome=pipelined depth=2 queue_records=1 values_per_record=1 read_count=3
// CHECK-NEXT: row ordinal=0 loop=u position=0 op=memref.load stage=producer iteration_lookahead=1
// CHECK-NEXT: row ordinal=0 loop=u position=1 op=arith.addf stage=consumer iteration_lookahead=0
// CHECK-NEXT: row ordinal=1 loop=i position=0 op=arith.constant stage=producer iteration_lookahead=1
// CHECK-NEXT: row ordinal=1 loop=i position=1 op=arith.cmpi stage=producer iteration_lookahead=1
// CHECK-NEXT: row ordinal=1 loop=i position=2 op=scf.if stage=producer iteration_lookahead=1
// CHECK-NEXT: row ordinal=1 loop=i position=3 op=arith.addf stage=consumer iteration_lookahead=0
