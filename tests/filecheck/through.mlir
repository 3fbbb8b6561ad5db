// The product is queued instead of its factors: it is computed where they are read.
// PASS: pipeline
func.func @product(%count: index {motif.range = array<i64: 0, 64>}, %in: memref<64x32xi32> {motif.noalias},
               %by: memref<64x32xi32> {motif.noalias}, %out: memref<32xi32> {motif.noalias})
               attributes {motif.kernel, motif.workgroup_size = array<i64: 32, 1, 1>} {
  %lane = "gpu.thread_id"() <{dimension = #gpu<dim x>}> {motif.range = array<i64: 0, 31>} : () -> index
  %zero = arith.constant 0 : i32
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c8 = arith.constant 8 : index
  %sum = scf.for %i = %c0 to %count step %c1 iter_args(%acc = %zero) -> (i32) {
    %x = memref.load %in[%i, %lane] : memref<64x32xi32>
    %y = memref.load %by[%i, %lane] : memref<64x32xi32>
    %p = arith.muli %x, %y : i32
    "motif.ahead"(%p) : (i32) -> ()
    %next = arith.addi %acc, %p : i32
    scf.yield %next : i32
  } {motif.loop = "i", motif.pipeline = 3 : i64, motif.through = "p"}
  memref.store %sum, %out[%lane] : memref<32xi32>
  func.return
}
// CHECK-LABEL: func.func @product
// CHECK: %lane = "gpu.thread_id"() <{dimension = #gpu<dim x>}> {motif.range = array<i64: 0, 31>} : () -> index
// CHECK-NEXT: %zero = arith.constant 0 : i32
// CHECK-NEXT: %c0 = arith.constant 0 : index
// CHECK-NEXT: %c1 = arith.constant 1 : index
// CHECK-NEXT: %c8 = arith.constant 8 : index
// CHECK-NEXT: %0 = arith.constant 2 : index
// CHECK-NEXT: %1 = arith.cmpi slt, %0, %count : index
// CHECK-NEXT: %sum = scf.if %1 -> (i32) {
// CHECK-NEXT: %x = memref.load %in[%c0, %lane] : memref<64x32xi32>
// CHECK-NEXT: %y = memref.load %by[%c0, %lane] : memref<64x32xi32>
// CHECK-NEXT: %p = arith.muli %x, %y : i32
// CHECK-NEXT: %2 = arith.constant 1 : index
// CHECK-NEXT: %x_1 = memref.load %in[%2, %lane] : memref<64x32xi32>
// CHECK-NEXT: %y_1 = memref.load %by[%2, %lane] : memref<64x32xi32>
// CHECK-NEXT: %p_1 = arith.muli %x_1, %y_1 : i32
// CHECK-NEXT: %3, %4, %5 = scf.for %i = %0 to %count step %c1 iter_args(%acc = %zero, %p_2 = %p, %p_3 = %p_1) -> (i32, i32, i32) {
// CHECK-NEXT: %x_2 = memref.load %in[%i, %lane] : memref<64x32xi32>
// CHECK-NEXT: %y_2 = memref.load %by[%i, %lane] : memref<64x32xi32>
// CHECK-NEXT: %p_4 = arith.muli %x_2, %y_2 : i32
// CHECK-NEXT: %next = arith.addi %acc, %p_2 : i32
// CHECK-NEXT: scf.yield %next, %p_3, %p_4 : i32, i32, i32
// CHECK-NEXT: } {motif.loop = "i", motif.form = "steady"}
// CHECK-NEXT: %next_1 = arith.addi %3, %4 : i32
// CHECK-NEXT: %next_2 = arith.addi %next_1, %5 : i32
// CHECK-NEXT: scf.yield %next_2 : i32
// CHECK-NEXT: } else {
// CHECK-NEXT: %sum_1 = scf.for %i_1 = %c0 to %count step %c1 iter_args(%acc_1 = %zero) -> (i32) {
// CHECK-NEXT: %x_3 = memref.load %in[%i_1, %lane] : memref<64x32xi32>
// CHECK-NEXT: %y_3 = memref.load %by[%i_1, %lane] : memref<64x32xi32>
// CHECK-NEXT: %p_5 = arith.muli %x_3, %y_3 : i32
// CHECK-NEXT: %next_3 = arith.addi %acc_1, %p_5 : i32
// CHECK-NEXT: scf.yield %next_3 : i32
// CHECK-NEXT: } {motif.loop = "i", motif.form = "serial"}
// CHECK-NEXT: scf.yield %sum_1 : i32
// CHECK: memref.store %sum, %out[%lane] : memref<32xi32>
// CHECK-NEXT: func.return
// CHECK: row ordinal=0 loop=i outcome=pipelined depth=3 queue_records=2 values_per_record=1 read_count=2
// CHECK-NEXT: row ordinal=0 loop=i position=0 op=memref.load stage=producer iteration_lookahead=2
// CHECK-NEXT: row ordinal=0 loop=i position=1 op=memref.load stage=producer iteration_lookahead=2
// CHECK-NEXT: row ordinal=0 loop=i position=2 op=arith.muli stage=producer iteration_lookahead=2
// CHECK-NEXT: row ordinal=0 loop=i position=3 op=arith.addi stage=consumer iteration_lookahead=0

// -----
// A conditional that reads nothing is cut for the let in it; the other branch and the carried update stay.
// PASS: pipeline
func.func @guarded(%count: index {motif.range = array<i64: 0, 64>}, %in: memref<64x32xi32> {motif.noalias},
               %by: memref<64x32xi32> {motif.noalias}, %out: memref<32xi32> {motif.noalias})
               attributes {motif.kernel, motif.workgroup_size = array<i64: 32, 1, 1>} {
  %lane = "gpu.thread_id"() <{dimension = #gpu<dim x>}> {motif.range = array<i64: 0, 31>} : () -> index
  %zero = arith.constant 0 : i32
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c8 = arith.constant 8 : index
  %sum = scf.for %i = %c0 to %c8 step %c1 iter_args(%acc = %zero) -> (i32) {
    %x = memref.load %in[%i, %lane] : memref<64x32xi32>
    %y = memref.load %by[%i, %lane] : memref<64x32xi32>
    %q = arith.cmpi slt, %x, %zero : i32
    %next = scf.if %q -> (i32) {
      %p = arith.muli %x, %y : i32
      "motif.ahead"(%p) : (i32) -> ()
      %s = arith.addi %acc, %p : i32
      scf.yield %s : i32
    } else {
      %r = arith.subi %acc, %x : i32
      scf.yield %r : i32
    }
    scf.yield %next : i32
  } {motif.loop = "i", motif.pipeline = 2 : i64, motif.through = "p"}
  memref.store %sum, %out[%lane] : memref<32xi32>
  func.return
}
// CHECK-LABEL: func.func @guarded
// CHECK: %lane = "gpu.thread_id"() <{dimension = #gpu<dim x>}> {motif.range = array<i64: 0, 31>} : () -> index
// CHECK-NEXT: %zero = arith.constant 0 : i32
// CHECK-NEXT: %c0 = arith.constant 0 : index
// CHECK-NEXT: %c1 = arith.constant 1 : index
// CHECK-NEXT: %c8 = arith.constant 8 : index
// CHECK-NEXT: %0 = arith.constant 1 : index
// CHECK-NEXT: %x = memref.load %in[%c0, %lane] : memref<64x32xi32>
// CHECK-NEXT: %y = memref.load %by[%c0, %lane] : memref<64x32xi32>
// CHECK-NEXT: %q = arith.cmpi slt, %x, %zero : i32
// CHECK-NEXT: %p = scf.if %q -> (i32) {
// CHECK-NEXT: %p_1 = arith.muli %x, %y : i32
// CHECK-NEXT: scf.yield %p_1 : i32
// CHECK-NEXT: } else {
// CHECK-NEXT: %1 = arith.constant {motif.any} 0 : i32
// CHECK-NEXT: scf.yield %1 : i32
// CHECK: %2, %3, %4, %5 = scf.for %i = %0 to %c8 step %c1 iter_args(%acc = %zero, %x_1 = %x, %q_1 = %q, %p_2 = %p) -> (i32, i32, i1, i32) {
// CHECK-NEXT: %x_2 = memref.load %in[%i, %lane] : memref<64x32xi32>
// CHECK-NEXT: %y_1 = memref.load %by[%i, %lane] : memref<64x32xi32>
// CHECK-NEXT: %q_2 = arith.cmpi slt, %x_2, %zero : i32
// CHECK-NEXT: %p_3 = scf.if %q_2 -> (i32) {
// CHECK-NEXT: %p_4 = arith.muli %x_2, %y_1 : i32
// CHECK-NEXT: scf.yield %p_4 : i32
// CHECK-NEXT: } else {
// CHECK-NEXT: %6 = arith.constant {motif.any} 0 : i32
// CHECK-NEXT: scf.yield %6 : i32
// CHECK: %next = scf.if %q_1 -> (i32) {
// CHECK-NEXT: %s = arith.addi %acc, %p_2 : i32
// CHECK-NEXT: scf.yield %s : i32
// CHECK-NEXT: } else {
// CHECK-NEXT: %r = arith.subi %acc, %x_1 : i32
// CHECK-NEXT: scf.yield %r : i32
// CHECK: scf.yield %next, %x_2, %q_2, %p_3 : i32, i32, i1, i32
// CHECK-NEXT: } {motif.loop = "i", motif.form = "steady"}
// CHECK-NEXT: %next_1 = scf.if %4 -> (i32) {
// CHECK-NEXT: %s_1 = arith.addi %2, %5 : i32
// CHECK-NEXT: scf.yield %s_1 : i32
// CHECK-NEXT: } else {
// CHECK-NEXT: %r_1 = arith.subi %2, %3 : i32
// CHECK-NEXT: scf.yield %r_1 : i32
// CHECK: memref.store %next_1, %out[%lane] : memref<32xi32>
// CHECK-NEXT: func.return
// CHECK: row ordinal=0 loop=i outcome=pipelined depth=2 queue_records=1 values_per_record=3 read_count=2
// CHECK-NEXT: row ordinal=0 loop=i position=0 op=memref.load stage=producer iteration_lookahead=1
// CHECK-NEXT: row ordinal=0 loop=i position=1 op=memref.load stage=producer iteration_lookahead=1
// CHECK-NEXT: row ordinal=0 loop=i position=2 op=arith.cmpi stage=producer iteration_lookahead=1
// CHECK-NEXT: row ordinal=0 loop=i position=3 op=scf.if stage=producer iteration_lookahead=1 partition=guarded
// CHECK-NEXT: row ordinal=0 loop=i position=3 op=scf.if stage=consumer iteration_lookahead=0 partition=guarded
