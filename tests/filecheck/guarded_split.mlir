// The reading branch is cut: its load runs ahead behind the same guard, the predicate and the value are queued.
// PASS: pipeline
func.func @varying(%count: index {motif.range = array<i64: 0, 64>}, %in: memref<64x32xf32> {motif.noalias},
               %out: memref<32xf32> {motif.noalias}) attributes {motif.kernel, motif.workgroup_size = array<i64: 32, 1, 1>} {
  %lane = "gpu.thread_id"() <{dimension = #gpu<dim x>}> {motif.range = array<i64: 0, 31>} : () -> index
  %f0 = arith.constant 0.0 : f32
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %limit = arith.subi %count, %c1 : index
  %sum = scf.for %i = %c0 to %count step %c1 iter_args(%acc = %f0) -> (f32) {
    %inside = arith.cmpi slt, %i, %limit : index
    %next = scf.if %inside -> (f32) {
      %j = arith.muli %i, %c2 : index
      %x = memref.load %in[%j, %lane] : memref<64x32xf32>
      %s = arith.addf %acc, %x : f32
      scf.yield %s : f32
    } else {
      scf.yield %acc : f32
    }
    scf.yield %next : f32
  } {motif.loop = "i", motif.pipeline = 2 : i64}
  memref.store %sum, %out[%lane] : memref<32xf32>
  func.return
}
// CHECK-LABEL: func.func @varying
// CHECK: %lane = "gpu.thread_id"() <{dimension = #gpu<dim x>}> {motif.range = array<i64: 0, 31>} : () -> index
// CHECK-NEXT: %f0 = arith.constant 0.000000e+00 : f32
// CHECK-NEXT: %c0 = arith.constant 0 : index
// CHECK-NEXT: %c1 = arith.constant 1 : index
// CHECK-NEXT: %c2 = arith.constant 2 : index
// CHECK-NEXT: %limit = arith.subi %count, %c1 : index
// CHECK-NEXT: %0 = arith.constant 1 : index
// CHECK-NEXT: %1 = arith.cmpi slt, %0, %count : index
// CHECK-NEXT: %sum = scf.if %1 -> (f32) {
// CHECK-NEXT: %inside = arith.cmpi slt, %c0, %limit : index
// CHECK-NEXT: %x = scf.if %inside -> (f32) {
// CHECK-NEXT: %j = arith.muli %c0, %c2 : index
// CHECK-NEXT: %x_1 = memref.load %in[%j, %lane] : memref<64x32xf32>
// CHECK-NEXT: scf.yield %x_1 : f32
// CHECK-NEXT: } else {
// CHECK-NEXT: %2 = arith.constant {motif.any} 0.000000e+00 : f32
// CHECK-NEXT: scf.yield %2 : f32
// CHECK: %3, %4, %5 = scf.for %i = %0 to %count step %c1 iter_args(%acc = %f0, %inside_1 = %inside, %x_2 = %x) -> (f32, i1, f32) {
// CHECK-NEXT: %inside_2 = arith.cmpi slt, %i, %limit : index
// CHECK-NEXT: %x_3 = scf.if %inside_2 -> (f32) {
// CHECK-NEXT: %j_1 = arith.muli %i, %c2 : index
// CHECK-NEXT: %x_4 = memref.load %in[%j_1, %lane] : memref<64x32xf32>
// CHECK-NEXT: scf.yield %x_4 : f32
// CHECK-NEXT: } else {
// CHECK-NEXT: %6 = arith.constant {motif.any} 0.000000e+00 : f32
// CHECK-NEXT: scf.yield %6 : f32
// CHECK: %next = scf.if %inside_1 -> (f32) {
// CHECK-NEXT: %s = arith.addf %acc, %x_2 : f32
// CHECK-NEXT: scf.yield %s : f32
// CHECK-NEXT: } else {
// CHECK-NEXT: scf.yield %acc : f32
// CHECK: scf.yield %next, %inside_2, %x_3 : f32, i1, f32
// CHECK-NEXT: } {motif.loop = "i", motif.form = "steady"}
// CHECK-NEXT: %next_1 = scf.if %4 -> (f32) {
// CHECK-NEXT: %s_1 = arith.addf %3, %5 : f32
// CHECK-NEXT: scf.yield %s_1 : f32
// CHECK-NEXT: } else {
// CHECK-NEXT: scf.yield %3 : f32
// CHECK: scf.yield %next_1 : f32
// CHECK-NEXT: } else {
// CHECK-NEXT: %sum_1 = scf.for %i_1 = %c0 to %count step %c1 iter_args(%acc_1 = %f0) -> (f32) {
// CHECK-NEXT: %inside_3 = arith.cmpi slt, %i_1, %limit : index
// CHECK-NEXT: %next_2 = scf.if %inside_3 -> (f32) {
// CHECK-NEXT: %j_2 = arith.muli %i_1, %c2 : index
// CHECK-NEXT: %x_5 = memref.load %in[%j_2, %lane] : memref<64x32xf32>
// CHECK-NEXT: %s_2 = arith.addf %acc_1, %x_5 : f32
// CHECK-NEXT: scf.yield %s_2 : f32
// CHECK-NEXT: } else {
// CHECK-NEXT: scf.yield %acc_1 : f32
// CHECK: scf.yield %next_2 : f32
// CHECK-NEXT: } {motif.loop = "i", motif.form = "serial"}
// CHECK-NEXT: scf.yield %sum_1 : f32
// CHECK: memref.store %sum, %out[%lane] : memref<32xf32>
// CHECK-NEXT: func.return
// CHECK: row ordinal=0 loop=i outcome=pipelined depth=2 queue_records=1 values_per_record=2 read_count=1
// CHECK-NEXT: row ordinal=0 loop=i position=0 op=arith.cmpi stage=producer iteration_lookahead=1
// CHECK-NEXT: row ordinal=0 loop=i position=1 op=scf.if stage=producer iteration_lookahead=1 partition=guarded
// CHECK-NEXT: row ordinal=0 loop=i position=1 op=scf.if stage=consumer iteration_lookahead=0 partition=guarded

// -----
// An invariant guard is not queued.
// PASS: pipeline
func.func @invariant(%count: index {motif.range = array<i64: 0, 64>}, %in: memref<64x32xf32> {motif.noalias},
               %out: memref<32xf32> {motif.noalias}) attributes {motif.kernel, motif.workgroup_size = array<i64: 32, 1, 1>} {
  %lane = "gpu.thread_id"() <{dimension = #gpu<dim x>}> {motif.range = array<i64: 0, 31>} : () -> index
  %f0 = arith.constant 0.0 : f32
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %limit = arith.subi %count, %c1 : index
  %always = arith.cmpi slt, %c2, %count : index
  %sum = scf.for %i = %c0 to %count step %c1 iter_args(%acc = %f0) -> (f32) {
    %next = scf.if %always -> (f32) {
      %j = arith.muli %i, %c2 : index
      %x = memref.load %in[%j, %lane] : memref<64x32xf32>
      %s = arith.addf %acc, %x : f32
      scf.yield %s : f32
    } else {
      scf.yield %acc : f32
    }
    scf.yield %next : f32
  } {motif.loop = "i", motif.pipeline = 2 : i64}
  memref.store %sum, %out[%lane] : memref<32xf32>
  func.return
}
// CHECK-LABEL: func.func @invariant
// CHECK: %lane = "gpu.thread_id"() <{dimension = #gpu<dim x>}> {motif.range = array<i64: 0, 31>} : () -> index
// CHECK-NEXT: %f0 = arith.constant 0.000000e+00 : f32
// CHECK-NEXT: %c0 = arith.constant 0 : index
// CHECK-NEXT: %c1 = arith.constant 1 : index
// CHECK-NEXT: %c2 = arith.constant 2 : index
// CHECK-NEXT: %limit = arith.subi %count, %c1 : index
// CHECK-NEXT: %always = arith.cmpi slt, %c2, %count : index
// CHECK-NEXT: %0 = arith.constant 1 : index
// CHECK-NEXT: %1 = arith.cmpi slt, %0, %count : index
// CHECK-NEXT: %sum = scf.if %1 -> (f32) {
// CHECK-NEXT: %x = scf.if %always -> (f32) {
// CHECK-NEXT: %j = arith.muli %c0, %c2 : index
// CHECK-NEXT: %x_1 = memref.load %in[%j, %lane] : memref<64x32xf32>
// CHECK-NEXT: scf.yield %x_1 : f32
// CHECK-NEXT: } else {
// CHECK-NEXT: %2 = arith.constant {motif.any} 0.000000e+00 : f32
// CHECK-NEXT: scf.yield %2 : f32
// CHECK: %3, %4 = scf.for %i = %0 to %count step %c1 iter_args(%acc = %f0, %x_2 = %x) -> (f32, f32) {
// CHECK-NEXT: %x_3 = scf.if %always -> (f32) {
// CHECK-NEXT: %j_1 = arith.muli %i, %c2 : index
// CHECK-NEXT: %x_4 = memref.load %in[%j_1, %lane] : memref<64x32xf32>
// CHECK-NEXT: scf.yield %x_4 : f32
// CHECK-NEXT: } else {
// CHECK-NEXT: %5 = arith.constant {motif.any} 0.000000e+00 : f32
// CHECK-NEXT: scf.yield %5 : f32
// CHECK: %next = scf.if %always -> (f32) {
// CHECK-NEXT: %s = arith.addf %acc, %x_2 : f32
// CHECK-NEXT: scf.yield %s : f32
// CHECK-NEXT: } else {
// CHECK-NEXT: scf.yield %acc : f32
// CHECK: scf.yield %next, %x_3 : f32, f32
// CHECK-NEXT: } {motif.loop = "i", motif.form = "steady"}
// CHECK-NEXT: %next_1 = scf.if %always -> (f32) {
// CHECK-NEXT: %s_1 = arith.addf %3, %4 : f32
// CHECK-NEXT: scf.yield %s_1 : f32
// CHECK-NEXT: } else {
// CHECK-NEXT: scf.yield %3 : f32
// CHECK: scf.yield %next_1 : f32
// CHECK-NEXT: } else {
// CHECK-NEXT: %sum_1 = scf.for %i_1 = %c0 to %count step %c1 iter_args(%acc_1 = %f0) -> (f32) {
// CHECK-NEXT: %next_2 = scf.if %always -> (f32) {
// CHECK-NEXT: %j_2 = arith.muli %i_1, %c2 : index
// CHECK-NEXT: %x_5 = memref.load %in[%j_2, %lane] : memref<64x32xf32>
// CHECK-NEXT: %s_2 = arith.addf %acc_1, %x_5 : f32
// CHECK-NEXT: scf.yield %s_2 : f32
// CHECK-NEXT: } else {
// CHECK-NEXT: scf.yield %acc_1 : f32
// CHECK: scf.yield %next_2 : f32
// CHECK-NEXT: } {motif.loop = "i", motif.form = "serial"}
// CHECK-NEXT: scf.yield %sum_1 : f32
// CHECK: memref.store %sum, %out[%lane] : memref<32xf32>
// CHECK-NEXT: func.return
// CHECK: row ordinal=0 loop=i outcome=pipelined depth=2 queue_records=1 values_per_record=1 read_count=1
// CHECK-NEXT: row ordinal=0 loop=i position=0 op=scf.if stage=producer iteration_lookahead=1 partition=guarded
// CHECK-NEXT: row ordinal=0 loop=i position=0 op=scf.if stage=consumer iteration_lookahead=0 partition=guarded

// -----
// A conditional that does not touch carried state goes ahead whole.
// PASS: pipeline
func.func @atomic(%count: index {motif.range = array<i64: 0, 64>}, %in: memref<64x32xf32> {motif.noalias},
               %out: memref<32xf32> {motif.noalias}) attributes {motif.kernel, motif.workgroup_size = array<i64: 32, 1, 1>} {
  %lane = "gpu.thread_id"() <{dimension = #gpu<dim x>}> {motif.range = array<i64: 0, 31>} : () -> index
  %f0 = arith.constant 0.0 : f32
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %limit = arith.subi %count, %c1 : index
  %sum = scf.for %i = %c0 to %count step %c1 iter_args(%acc = %f0) -> (f32) {
    %inside = arith.cmpi slt, %i, %limit : index
    %x = scf.if %inside -> (f32) {
      %y = memref.load %in[%i, %lane] : memref<64x32xf32>
      scf.yield %y : f32
    } else {
      scf.yield %f0 : f32
    }
    %next = arith.addf %acc, %x : f32
    scf.yield %next : f32
  } {motif.loop = "i", motif.pipeline = 2 : i64}
  memref.store %sum, %out[%lane] : memref<32xf32>
  func.return
}
// CHECK-LABEL: func.func @atomic
// CHECK: %lane = "gpu.thread_id"() <{dimension = #gpu<dim x>}> {motif.range = array<i64: 0, 31>} : () -> index
// CHECK-NEXT: %f0 = arith.constant 0.000000e+00 : f32
// CHECK-NEXT: %c0 = arith.constant 0 : index
// CHECK-NEXT: %c1 = arith.constant 1 : index
// CHECK-NEXT: %c2 = arith.constant 2 : index
// CHECK-NEXT: %limit = arith.subi %count, %c1 : index
// CHECK-NEXT: %0 = arith.constant 1 : index
// CHECK-NEXT: %1 = arith.cmpi slt, %0, %count : index
// CHECK-NEXT: %sum = scf.if %1 -> (f32) {
// CHECK-NEXT: %inside = arith.cmpi slt, %c0, %limit : index
// CHECK-NEXT: %x = scf.if %inside -> (f32) {
// CHECK-NEXT: %y = memref.load %in[%c0, %lane] : memref<64x32xf32>
// CHECK-NEXT: scf.yield %y : f32
// CHECK-NEXT: } else {
// CHECK-NEXT: scf.yield %f0 : f32
// CHECK: %2, %3 = scf.for %i = %0 to %count step %c1 iter_args(%acc = %f0, %x_1 = %x) -> (f32, f32) {
// CHECK-NEXT: %inside_1 = arith.cmpi slt, %i, %limit : index
// CHECK-NEXT: %x_2 = scf.if %inside_1 -> (f32) {
// CHECK-NEXT: %y_1 = memref.load %in[%i, %lane] : memref<64x32xf32>
// CHECK-NEXT: scf.yield %y_1 : f32
// CHECK-NEXT: } else {
// CHECK-NEXT: scf.yield %f0 : f32
// CHECK: %next = arith.addf %acc, %x_1 : f32
// CHECK-NEXT: scf.yield %next, %x_2 : f32, f32
// CHECK-NEXT: } {motif.loop = "i", motif.form = "steady"}
// CHECK-NEXT: %next_1 = arith.addf %2, %3 : f32
// CHECK-NEXT: scf.yield %next_1 : f32
// CHECK-NEXT: } else {
// CHECK-NEXT: %sum_1 = scf.for %i_1 = %c0 to %count step %c1 iter_args(%acc_1 = %f0) -> (f32) {
// CHECK-NEXT: %inside_2 = arith.cmpi slt, %i_1, %limit : index
// CHECK-NEXT: %x_3 = scf.if %inside_2 -> (f32) {
// CHECK-NEXT: %y_2 = memref.load %in[%i_1, %lane] : memref<64x32xf32>
// CHECK-NEXT: scf.yield %y_2 : f32
// CHECK-NEXT: } else {
// CHECK-NEXT: scf.yield %f0 : f32
// CHECK: %next_2 = arith.addf %acc_1, %x_3 : f32
// CHECK-NEXT: scf.yield %next_2 : f32
// CHECK-NEXT: } {motif.loop = "i", motif.form = "serial"}
// CHECK-NEXT: scf.yield %sum_1 : f32
// CHECK: memref.store %sum, %out[%lane] : memref<32xf32>
// CHECK-NEXT: func.return
// CHECK: row ordinal=0 loop=i outcome=pipelined depth=2 queue_records=1 values_per_record=1 read_count=1
// CHECK-NEXT: row ordinal=0 loop=i position=0 op=arith.cmpi stage=producer iteration_lookahead=1
// CHECK-NEXT: row ordinal=0 loop=i position=1 op=scf.if stage=producer iteration_lookahead=1
// CHECK-NEXT: row ordinal=0 loop=i position=2 op=arith.addf stage=consumer iteration_lookahead=0
