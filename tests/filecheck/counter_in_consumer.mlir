// The consumer uses the counter and an index sum of it: both are computed again, only the load is queued.
// PASS: pipeline
func.func @again(%count: index {motif.range = array<i64: 0, 64>}, %in: memref<64x32xf32> {motif.noalias},
               %out: memref<32xf32> {motif.noalias}) attributes {motif.kernel, motif.workgroup_size = array<i64: 32, 1, 1>} {
  %lane = "gpu.thread_id"() <{dimension = #gpu<dim x>}> {motif.range = array<i64: 0, 31>} : () -> index
  %f0 = arith.constant 0.0 : f32
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %sum = scf.for %i = %c0 to %count step %c1 iter_args(%acc = %f0) -> (f32) {
    %j = arith.addi %i, %c1 : index
    %x = memref.load %in[%j, %lane] : memref<64x32xf32>
    %k = arith.addi %j, %i : index
    %w = arith.index_cast %k : index to i64
    %f = arith.sitofp %w : i64 to f32
    %y = arith.mulf %x, %f : f32
    %next = arith.addf %acc, %y : f32
    scf.yield %next : f32
  } {motif.loop = "i", motif.pipeline = 2 : i64}
  memref.store %sum, %out[%lane] : memref<32xf32>
  func.return
}
// CHECK-LABEL: func.func @again
// CHECK: %lane = "gpu.thread_id"() <{dimension = #gpu<dim x>}> {motif.range = array<i64: 0, 31>} : () -> index
// CHECK-NEXT: %f0 = arith.constant 0.000000e+00 : f32
// CHECK-NEXT: %c0 = arith.constant 0 : index
// CHECK-NEXT: %c1 = arith.constant 1 : index
// CHECK-NEXT: %0 = arith.constant 1 : index
// CHECK-NEXT: %1 = arith.cmpi slt, %0, %count : index
// CHECK-NEXT: %sum = scf.if %1 -> (f32) {
// CHECK-NEXT: %j = arith.addi %c0, %c1 : index
// CHECK-NEXT: %x = memref.load %in[%j, %lane] : memref<64x32xf32>
// CHECK-NEXT: %2, %3 = scf.for %i = %0 to %count step %c1 iter_args(%acc = %f0, %x_1 = %x) -> (f32, f32) {
// CHECK-NEXT: %j_1 = arith.addi %i, %c1 : index
// CHECK-NEXT: %x_2 = memref.load %in[%j_1, %lane] : memref<64x32xf32>
// CHECK-NEXT: %4 = arith.constant -1 : index
// CHECK-NEXT: %i_1 = arith.addi %i, %4 {motif.range = array<i64: 0, 63>} : index
// CHECK-NEXT: %j_2 = arith.addi %i_1, %c1 : index
// CHECK-NEXT: %k = arith.addi %j_2, %i_1 : index
// CHECK-NEXT: %w = arith.index_cast %k : index to i64
// CHECK-NEXT: %f = arith.sitofp %w : i64 to f32
// CHECK-NEXT: %y = arith.mulf %x_1, %f : f32
// CHECK-NEXT: %next = arith.addf %acc, %y : f32
// CHECK-NEXT: scf.yield %next, %x_2 : f32, f32
// CHECK-NEXT: } {motif.loop = "i", motif.form = "steady"}
// CHECK-NEXT: %5 = arith.constant -1 : index
// CHECK-NEXT: %6 = arith.addi %count, %5 : index
// CHECK-NEXT: %j_3 = arith.addi %6, %c1 : index
// CHECK-NEXT: %k_1 = arith.addi %j_3, %6 : index
// CHECK-NEXT: %w_1 = arith.index_cast %k_1 : index to i64
// CHECK-NEXT: %f_1 = arith.sitofp %w_1 : i64 to f32
// CHECK-NEXT: %y_1 = arith.mulf %3, %f_1 : f32
// CHECK-NEXT: %next_1 = arith.addf %2, %y_1 : f32
// CHECK-NEXT: scf.yield %next_1 : f32
// CHECK-NEXT: } else {
// CHECK-NEXT: %sum_1 = scf.for %i_2 = %c0 to %count step %c1 iter_args(%acc_1 = %f0) -> (f32) {
// CHECK-NEXT: %j_4 = arith.addi %i_2, %c1 : index
// CHECK-NEXT: %x_3 = memref.load %in[%j_4, %lane] : memref<64x32xf32>
// CHECK-NEXT: %k_2 = arith.addi %j_4, %i_2 : index
// CHECK-NEXT: %w_2 = arith.index_cast %k_2 : index to i64
// CHECK-NEXT: %f_2 = arith.sitofp %w_2 : i64 to f32
// CHECK-NEXT: %y_2 = arith.mulf %x_3, %f_2 : f32
// CHECK-NEXT: %next_2 = arith.addf %acc_1, %y_2 : f32
// CHECK-NEXT: scf.yield %next_2 : f32
// CHECK-NEXT: } {motif.loop = "i", motif.form = "serial"}
// CHECK-NEXT: scf.yield %sum_1 : f32
// CHECK: memref.store %sum, %out[%lane] : memref<32xf32>
// CHECK-NEXT: func.return
// CHECK: row ordinal=0 loop=i outcome=pipelined depth=2 queue_records=1 values_per_record=1 read_count=1
// CHECK-NEXT: row ordinal=0 loop=i position=0 op=arith.addi stage=producer iteration_lookahead=1
// CHECK-NEXT: row ordinal=0 loop=i position=0 op=arith.addi stage=consumer iteration_lookahead=0
// CHECK-NEXT: row ordinal=0 loop=i position=1 op=memref.load stage=producer iteration_lookahead=1
// CHECK-NEXT: row ordinal=0 loop=i position=2 op=arith.addi stage=consumer iteration_lookahead=0
// CHECK-NEXT: row ordinal=0 loop=i position=3 op=arith.index_cast stage=consumer iteration_lookahead=0
// CHECK-NEXT: row ordinal=0 loop=i position=4 op=arith.sitofp stage=consumer iteration_lookahead=0
// CHECK-NEXT: row ordinal=0 loop=i position=5 op=arith.mulf stage=consumer iteration_lookahead=0
// CHECK-NEXT: row ordinal=0 loop=i position=6 op=arith.addf stage=consumer iteration_lookahead=0

// -----
// A product is queued, and what is added to it is computed again.
// PASS: pipeline
func.func @product(%count: index {motif.range = array<i64: 0, 64>}, %in: memref<64x32xf32> {motif.noalias},
               %out: memref<32xf32> {motif.noalias}) attributes {motif.kernel, motif.workgroup_size = array<i64: 32, 1, 1>} {
  %lane = "gpu.thread_id"() <{dimension = #gpu<dim x>}> {motif.range = array<i64: 0, 31>} : () -> index
  %f0 = arith.constant 0.0 : f32
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c3 = arith.constant 3 : index
  %sum = scf.for %i = %c0 to %count step %c1 iter_args(%acc = %f0) -> (f32) {
    %p = arith.muli %i, %c3 : index
    %j = arith.addi %p, %c1 : index
    %x = memref.load %in[%j, %lane] : memref<64x32xf32>
    %jw = arith.index_cast %j : index to i64
    %pw = arith.index_cast %p : index to i64
    %w = arith.addi %jw, %pw : i64
    %f = arith.sitofp %w : i64 to f32
    %y = arith.mulf %x, %f : f32
    %next = arith.addf %acc, %y : f32
    scf.yield %next : f32
  } {motif.loop = "i", motif.pipeline = 2 : i64}
  memref.store %sum, %out[%lane] : memref<32xf32>
  func.return
}
// CHECK-LABEL: func.func @product
// CHECK: %lane = "gpu.thread_id"() <{dimension = #gpu<dim x>}> {motif.range = array<i64: 0, 31>} : () -> index
// CHECK-NEXT: %f0 = arith.constant 0.000000e+00 : f32
// CHECK-NEXT: %c0 = arith.constant 0 : index
// CHECK-NEXT: %c1 = arith.constant 1 : index
// CHECK-NEXT: %c3 = arith.constant 3 : index
// CHECK-NEXT: %0 = arith.constant 1 : index
// CHECK-NEXT: %1 = arith.cmpi slt, %0, %count : index
// CHECK-NEXT: %sum = scf.if %1 -> (f32) {
// CHECK-NEXT: %p = arith.muli %c0, %c3 : index
// CHECK-NEXT: %j = arith.addi %p, %c1 : index
// CHECK-NEXT: %x = memref.load %in[%j, %lane] : memref<64x32xf32>
// CHECK-NEXT: %2, %3, %4 = scf.for %i = %0 to %count step %c1 iter_args(%acc = %f0, %p_1 = %p, %x_1 = %x) -> (f32, index, f32) {
// CHECK-NEXT: %p_2 = arith.muli %i, %c3 : index
// CHECK-NEXT: %j_1 = arith.addi %p_2, %c1 : index
// CHECK-NEXT: %x_2 = memref.load %in[%j_1, %lane] : memref<64x32xf32>
// CHECK-NEXT: %j_2 = arith.addi %p_1, %c1 : index
// CHECK-NEXT: %jw = arith.index_cast %j_2 : index to i64
// CHECK-NEXT: %pw = arith.index_cast %p_1 : index to i64
// CHECK-NEXT: %w = arith.addi %jw, %pw : i64
// CHECK-NEXT: %f = arith.sitofp %w : i64 to f32
// CHECK-NEXT: %y = arith.mulf %x_1, %f : f32
// CHECK-NEXT: %next = arith.addf %acc, %y : f32
// CHECK-NEXT: scf.yield %next, %p_2, %x_2 : f32, index, f32
// CHECK-NEXT: } {motif.loop = "i", motif.form = "steady"}
// CHECK-NEXT: %j_3 = arith.addi %3, %c1 : index
// CHECK-NEXT: %jw_1 = arith.index_cast %j_3 : index to i64
// CHECK-NEXT: %pw_1 = arith.index_cast %3 : index to i64
// CHECK-NEXT: %w_1 = arith.addi %jw_1, %pw_1 : i64
// CHECK-NEXT: %f_1 = arith.sitofp %w_1 : i64 to f32
// CHECK-NEXT: %y_1 = arith.mulf %4, %f_1 : f32
// CHECK-NEXT: %next_1 = arith.addf %2, %y_1 : f32
// CHECK-NEXT: scf.yield %next_1 : f32
// CHECK-NEXT: } else {
// CHECK-NEXT: %sum_1 = scf.for %i_1 = %c0 to %count step %c1 iter_args(%acc_1 = %f0) -> (f32) {
// CHECK-NEXT: %p_3 = arith.muli %i_1, %c3 : index
// CHECK-NEXT: %j_4 = arith.addi %p_3, %c1 : index
// CHECK-NEXT: %x_3 = memref.load %in[%j_4, %lane] : memref<64x32xf32>
// CHECK-NEXT: %jw_2 = arith.index_cast %j_4 : index to i64
// CHECK-NEXT: %pw_2 = arith.index_cast %p_3 : index to i64
// CHECK-NEXT: %w_2 = arith.addi %jw_2, %pw_2 : i64
// CHECK-NEXT: %f_2 = arith.sitofp %w_2 : i64 to f32
// CHECK-NEXT: %y_2 = arith.mulf %x_3, %f_2 : f32
// CHECK-NEXT: %next_2 = arith.addf %acc_1, %y_2 : f32
// CHECK-NEXT: scf.yield %next_2 : f32
// CHECK-NEXT: } {motif.loop = "i", motif.form = "serial"}
// CHECK-NEXT: scf.yield %sum_1 : f32
// CHECK: memref.store %sum, %out[%lane] : memref<32xf32>
// CHECK-NEXT: func.return
// CHECK: row ordinal=0 loop=i outcome=pipelined depth=2 queue_records=1 values_per_record=2 read_count=1
// CHECK-NEXT: row ordinal=0 loop=i position=0 op=arith.muli stage=producer iteration_lookahead=1
// CHECK-NEXT: row ordinal=0 loop=i position=1 op=arith.addi stage=producer iteration_lookahead=1
// CHECK-NEXT: row ordinal=0 loop=i position=1 op=arith.addi stage=consumer iteration_lookahead=0
// CHECK-NEXT: row ordinal=0 loop=i position=2 op=memref.load stage=producer iteration_lookahead=1
// CHECK-NEXT: row ordinal=0 loop=i position=3 op=arith.index_cast stage=consumer iteration_lookahead=0
// CHECK-NEXT: row ordinal=0 loop=i position=4 op=arith.index_cast stage=consumer iteration_lookahead=0
// CHECK-NEXT: row ordinal=0 loop=i position=5 op=arith.addi stage=consumer iteration_lookahead=0
// CHECK-NEXT: row ordinal=0 loop=i position=6 op=arith.sitofp stage=consumer iteration_lookahead=0
// CHECK-NEXT: row ordinal=0 loop=i position=7 op=arith.mulf stage=consumer iteration_lookahead=0
// CHECK-NEXT: row ordinal=0 loop=i position=8 op=arith.addf stage=consumer iteration_lookahead=0

// -----
// Step 3 with an open bound: the last counter is found from the distance, so that the drain has exact counters.
// PASS: pipeline
func.func @drain(%count: index {motif.range = array<i64: 0, 64>}, %in: memref<64x32xf32> {motif.noalias},
               %out: memref<32xf32> {motif.noalias}) attributes {motif.kernel, motif.workgroup_size = array<i64: 32, 1, 1>} {
  %lane = "gpu.thread_id"() <{dimension = #gpu<dim x>}> {motif.range = array<i64: 0, 31>} : () -> index
  %f0 = arith.constant 0.0 : f32
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c3 = arith.constant 3 : index
  %sum = scf.for %i = %c0 to %count step %c3 iter_args(%acc = %f0) -> (f32) {
    %x = memref.load %in[%i, %lane] : memref<64x32xf32>
    %w = arith.index_cast %i : index to i64
    %f = arith.sitofp %w : i64 to f32
    %y = arith.mulf %x, %f : f32
    %next = arith.addf %acc, %y : f32
    scf.yield %next : f32
  } {motif.loop = "i", motif.pipeline = 3 : i64}
  memref.store %sum, %out[%lane] : memref<32xf32>
  func.return
}
// CHECK-LABEL: func.func @drain
// CHECK: %lane = "gpu.thread_id"() <{dimension = #gpu<dim x>}> {motif.range = array<i64: 0, 31>} : () -> index
// CHECK-NEXT: %f0 = arith.constant 0.000000e+00 : f32
// CHECK-NEXT: %c0 = arith.constant 0 : index
// CHECK-NEXT: %c1 = arith.constant 1 : index
// CHECK-NEXT: %c3 = arith.constant 3 : index
// CHECK-NEXT: %0 = arith.constant 6 : index
// CHECK-NEXT: %1 = arith.cmpi slt, %0, %count : index
// CHECK-NEXT: %sum = scf.if %1 -> (f32) {
// CHECK-NEXT: %x = memref.load %in[%c0, %lane] : memref<64x32xf32>
// CHECK-NEXT: %2 = arith.constant 3 : index
// CHECK-NEXT: %x_1 = memref.load %in[%2, %lane] : memref<64x32xf32>
// CHECK-NEXT: %3, %4, %5 = scf.for %i = %0 to %count step %c3 iter_args(%acc = %f0, %x_2 = %x, %x_3 = %x_1) -> (f32, f32, f32) {
// CHECK-NEXT: %x_4 = memref.load %in[%i, %lane] : memref<64x32xf32>
// CHECK-NEXT: %6 = arith.constant -6 : index
// CHECK-NEXT: %i_1 = arith.addi %i, %6 {motif.range = array<i64: 0, 63>} : index
// CHECK-NEXT: %w = arith.index_cast %i_1 : index to i64
// CHECK-NEXT: %f = arith.sitofp %w : i64 to f32
// CHECK-NEXT: %y = arith.mulf %x_2, %f : f32
// CHECK-NEXT: %next = arith.addf %acc, %y : f32
// CHECK-NEXT: scf.yield %next, %x_3, %x_4 : f32, f32, f32
// CHECK-NEXT: } {motif.loop = "i", motif.form = "steady"}
// CHECK-NEXT: %7 = arith.constant -6 : index
// CHECK-NEXT: %8 = arith.addi %count, %7 : index
// CHECK-NEXT: %9 = arith.constant -1 : index
// CHECK-NEXT: %10 = arith.addi %8, %9 : index
// CHECK-NEXT: %11 = arith.constant 3 : index
// CHECK-NEXT: %12 = arith.divui %10, %11 : index
// CHECK-NEXT: %13 = arith.constant 3 : index
// CHECK-NEXT: %14 = arith.muli %12, %13 : index
// CHECK-NEXT: %15 = arith.constant 6 : index
// CHECK-NEXT: %16 = arith.addi %14, %15 : index
// CHECK-NEXT: %17 = arith.constant -3 : index
// CHECK-NEXT: %i_2 = arith.addi %16, %17 {motif.range = array<i64: 0, 63>} : index
// CHECK-NEXT: %w_1 = arith.index_cast %i_2 : index to i64
// CHECK-NEXT: %f_1 = arith.sitofp %w_1 : i64 to f32
// CHECK-NEXT: %y_1 = arith.mulf %4, %f_1 : f32
// CHECK-NEXT: %next_1 = arith.addf %3, %y_1 : f32
// CHECK-NEXT: %w_2 = arith.index_cast %16 : index to i64
// CHECK-NEXT: %f_2 = arith.sitofp %w_2 : i64 to f32
// CHECK-NEXT: %y_2 = arith.mulf %5, %f_2 : f32
// CHECK-NEXT: %next_2 = arith.addf %next_1, %y_2 : f32
// CHECK-NEXT: scf.yield %next_2 : f32
// CHECK-NEXT: } else {
// CHECK-NEXT: %sum_1 = scf.for %i_3 = %c0 to %count step %c3 iter_args(%acc_1 = %f0) -> (f32) {
// CHECK-NEXT: %x_5 = memref.load %in[%i_3, %lane] : memref<64x32xf32>
// CHECK-NEXT: %w_3 = arith.index_cast %i_3 : index to i64
// CHECK-NEXT: %f_3 = arith.sitofp %w_3 : i64 to f32
// CHECK-NEXT: %y_3 = arith.mulf %x_5, %f_3 : f32
// CHECK-NEXT: %next_3 = arith.addf %acc_1, %y_3 : f32
// CHECK-NEXT: scf.yield %next_3 : f32
// CHECK-NEXT: } {motif.loop = "i", motif.form = "serial"}
// CHECK-NEXT: scf.yield %sum_1 : f32
// CHECK: memref.store %sum, %out[%lane] : memref<32xf32>
// CHECK-NEXT: func.return
// CHECK: row ordinal=0 loop=i outcome=pipelined depth=3 queue_records=2 values_per_record=1 read_count=1
// CHECK-NEXT: row ordinal=0 loop=i position=0 op=memref.load stage=producer iteration_lookahead=2
// CHECK-NEXT: row ordinal=0 loop=i position=1 op=arith.index_cast stage=consumer iteration_lookahead=0
// CHECK-NEXT: row ordinal=0 loop=i position=2 op=arith.sitofp stage=consumer iteration_lookahead=0
// CHECK-NEXT: row ordinal=0 loop=i position=3 op=arith.mulf stage=consumer iteration_lookahead=0
// CHECK-NEXT: row ordinal=0 loop=i position=4 op=arith.addf stage=consumer iteration_lookahead=0
