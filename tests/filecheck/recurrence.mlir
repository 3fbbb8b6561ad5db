// Depth 3, factor 4: two loads go ahead of all additions; each of the other two follows the addition that frees its
// register. The values handed on are the ones loaded last: no copies at the backedge.
func.func @sum_rows(%count: index {motif.range = array<i64: 0, 64>}, %in: memref<64x32xf32> {motif.noalias},
               %out: memref<32xf32> {motif.noalias}) attributes {motif.kernel, motif.workgroup_size = array<i64: 32, 1, 1>} {
  %lane = "gpu.thread_id"() <{dimension = #gpu<dim x>}> {motif.range = array<i64: 0, 31>} : () -> index
  %f0 = arith.constant 0.0 : f32
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %sum = scf.for %i = %c0 to %count step %c1 iter_args(%acc = %f0) -> (f32) {
    %x = memref.load %in[%i, %lane] : memref<64x32xf32>
    %next = arith.addf %acc, %x : f32
    scf.yield %next : f32
  } {motif.loop = "i", motif.pipeline = 3 : i64, motif.unroll = 4 : i64, motif.order = "recurrence"}
  memref.store %sum, %out[%lane] : memref<32xf32>
  func.return
}
// CHECK-LABEL: func.func @sum_rows
// CHECK: %lane = "gpu.thread_id"() <{dimension = #gpu<dim x>}> {motif.range = array<i64: 0, 31>} : () -> index
// CHECK-NEXT: %f0 = arith.constant 0.000000e+00 : f32
// CHECK-NEXT: %c0 = arith.constant 0 : index
// CHECK-NEXT: %c1 = arith.constant 1 : index
// CHECK-NEXT: %0 = arith.constant 2 : index
// CHECK-NEXT: %1 = arith.cmpi slt, %0, %count : index
// CHECK-NEXT: %sum, %2 = scf.if %1 -> (f32, index) {
// CHECK-NEXT: %x = memref.load %in[%c0, %lane] : memref<64x32xf32>
// CHECK-NEXT: %3 = arith.constant 1 : index
// CHECK-NEXT: %x_1 = memref.load %in[%3, %lane] : memref<64x32xf32>
// CHECK-NEXT: %4 = arith.constant -2 : index
// CHECK-NEXT: %5 = arith.addi %count, %4 : index
// CHECK-NEXT: %6 = arith.constant 4 : index
// CHECK-NEXT: %7 = arith.remui %5, %6 : index
// CHECK-NEXT: %8 = arith.subi %count, %7 : index
// CHECK-NEXT: %9 = arith.constant 4 : index
// CHECK-NEXT: %10, %11, %12 = scf.for %i = %0 to %8 step %9 iter_args(%acc = %f0, %x_2 = %x, %x_3 = %x_1) -> (f32, f32, f32) {
// CHECK-NEXT: %13 = arith.constant 1 : index
// CHECK-NEXT: %i_1 = arith.addi %i, %13 {motif.range = array<i64: 2, 63>} : index
// CHECK-NEXT: %14 = arith.constant 2 : index
// CHECK-NEXT: %i_2 = arith.addi %i, %14 {motif.range = array<i64: 2, 63>} : index
// CHECK-NEXT: %15 = arith.constant 3 : index
// CHECK-NEXT: %i_3 = arith.addi %i, %15 {motif.range = array<i64: 2, 63>} : index
// CHECK-NEXT: %x_4 = memref.load %in[%i, %lane] : memref<64x32xf32>
// CHECK-NEXT: %x_5 = memref.load %in[%i_1, %lane] : memref<64x32xf32>
// CHECK-NEXT: "motif.fence"() : () -> ()
// CHECK-NEXT: %next = arith.addf %acc, %x_2 : f32
// CHECK-NEXT: "motif.fence"() : () -> ()
// CHECK-NEXT: %x_6 = memref.load %in[%i_2, %lane] : memref<64x32xf32>
// CHECK-NEXT: "motif.fence"() : () -> ()
// CHECK-NEXT: %next_1 = arith.addf %next, %x_3 : f32
// CHECK-NEXT: "motif.fence"() : () -> ()
// CHECK-NEXT: %x_7 = memref.load %in[%i_3, %lane] : memref<64x32xf32>
// CHECK-NEXT: "motif.fence"() : () -> ()
// CHECK-NEXT: %next_2 = arith.addf %next_1, %x_4 : f32
// CHECK-NEXT: "motif.fence"() : () -> ()
// CHECK-NEXT: %next_3 = arith.addf %next_2, %x_5 : f32
// CHECK-NEXT: scf.yield %next_3, %x_6, %x_7 : f32, f32, f32
// CHECK-NEXT: } {motif.loop = "i", motif.form = "steady"}
// CHECK-NEXT: %next_4 = arith.addf %10, %11 : f32
// CHECK-NEXT: %next_5 = arith.addf %next_4, %12 : f32
// CHECK-NEXT: scf.yield %next_5, %8 : f32, index
// CHECK-NEXT: } else {
// CHECK-NEXT: scf.yield %f0, %c0 : f32, index
// CHECK: %sum_1 = scf.for %i_4 = %2 to %count step %c1 iter_args(%acc_1 = %sum) -> (f32) {
// CHECK-NEXT: %x_8 = memref.load %in[%i_4, %lane] : memref<64x32xf32>
// CHECK-NEXT: %next_6 = arith.addf %acc_1, %x_8 : f32
// CHECK-NEXT: scf.yield %next_6 : f32
// CHECK-NEXT: } {motif.loop = "i", motif.form = "serial"}
// CHECK-NEXT: memref.store %sum_1, %out[%lane] : memref<32xf32>
// CHECK-NEXT: func.return
// CHECK: row ordinal=0 loop=i outcome=pipelined depth=3 queue_records=2 values_per_record=1 read_count=1
// CHECK-NEXT: row ordinal=0 loop=i position=0 op=memref.load stage=producer iteration_lookahead=2
// CHECK-NEXT: row ordinal=0 loop=i position=1 op=arith.addf stage=consumer iteration_lookahead=0
// CHECK-NEXT: row ordinal=0 loop=i outcome=stripmined policy=factor factor=4 order=recurrence trip_count=unresolved tail=cut step=1

// -----
// Without a queue all loads go ahead of the chain.
func.func @no_queue(%count: index {motif.range = array<i64: 0, 64>}, %in: memref<64x32xf32> {motif.noalias},
               %out: memref<32xf32> {motif.noalias}) attributes {motif.kernel, motif.workgroup_size = array<i64: 32, 1, 1>} {
  %lane = "gpu.thread_id"() <{dimension = #gpu<dim x>}> {motif.range = array<i64: 0, 31>} : () -> index
  %f0 = arith.constant 0.0 : f32
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %sum = scf.for %i = %c0 to %count step %c1 iter_args(%acc = %f0) -> (f32) {
    %x = memref.load %in[%i, %lane] : memref<64x32xf32>
    %next = arith.addf %acc, %x : f32
    scf.yield %next : f32
  } {motif.loop = "i", motif.unroll = 3 : i64, motif.order = "recurrence"}
  memref.store %sum, %out[%lane] : memref<32xf32>
  func.return
}
// CHECK-LABEL: func.func @no_queue
// CHECK: %lane = "gpu.thread_id"() <{dimension = #gpu<dim x>}> {motif.range = array<i64: 0, 31>} : () -> index
// CHECK-NEXT: %f0 = arith.constant 0.000000e+00 : f32
// CHECK-NEXT: %c0 = arith.constant 0 : index
// CHECK-NEXT: %c1 = arith.constant 1 : index
// CHECK-NEXT: %0 = arith.maxsi %count, %c0 : index
// CHECK-NEXT: %1 = arith.constant 3 : index
// CHECK-NEXT: %2 = arith.remui %0, %1 : index
// CHECK-NEXT: %3 = arith.subi %0, %2 : index
// CHECK-NEXT: %4 = arith.constant 3 : index
// CHECK-NEXT: %5 = scf.for %i = %c0 to %3 step %4 iter_args(%acc = %f0) -> (f32) {
// CHECK-NEXT: %6 = arith.constant 1 : index
// CHECK-NEXT: %i_1 = arith.addi %i, %6 {motif.range = array<i64: 0, 63>} : index
// CHECK-NEXT: %7 = arith.constant 2 : index
// CHECK-NEXT: %i_2 = arith.addi %i, %7 {motif.range = array<i64: 0, 63>} : index
// CHECK-NEXT: %x = memref.load %in[%i, %lane] : memref<64x32xf32>
// CHECK-NEXT: %x_1 = memref.load %in[%i_1, %lane] : memref<64x32xf32>
// CHECK-NEXT: %x_2 = memref.load %in[%i_2, %lane] : memref<64x32xf32>
// CHECK-NEXT: "motif.fence"() : () -> ()
// CHECK-NEXT: %next = arith.addf %acc, %x : f32
// CHECK-NEXT: "motif.fence"() : () -> ()
// CHECK-NEXT: %next_1 = arith.addf %next, %x_1 : f32
// CHECK-NEXT: "motif.fence"() : () -> ()
// CHECK-NEXT: %next_2 = arith.addf %next_1, %x_2 : f32
// CHECK-NEXT: scf.yield %next_2 : f32
// CHECK-NEXT: } {motif.loop = "i"}
// CHECK-NEXT: %sum = scf.for %i_3 = %3 to %count step %c1 iter_args(%acc_1 = %5) -> (f32) {
// CHECK-NEXT: %x_3 = memref.load %in[%i_3, %lane] : memref<64x32xf32>
// CHECK-NEXT: %next_3 = arith.addf %acc_1, %x_3 : f32
// CHECK-NEXT: scf.yield %next_3 : f32
// CHECK-NEXT: } {motif.loop = "i", motif.form = "remainder"}
// CHECK-NEXT: memref.store %sum, %out[%lane] : memref<32xf32>
// CHECK-NEXT: func.return
// CHECK: row ordinal=0 loop=i outcome=stripmined policy=factor factor=3 order=recurrence trip_count=unresolved tail=cut step=1

// -----
// As many copies as the queue holds: each load follows the addition that frees its register.
// PASS: unroll
func.func @queue_only(%count: index {motif.range = array<i64: 0, 64>}, %in: memref<64x32xf32> {motif.noalias},
               %out: memref<32xf32> {motif.noalias}) attributes {motif.kernel, motif.workgroup_size = array<i64: 32, 1, 1>} {
  %lane = "gpu.thread_id"() <{dimension = #gpu<dim x>}> {motif.range = array<i64: 0, 31>} : () -> index
  %f0 = arith.constant 0.0 : f32
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %sum = scf.for %i = %c0 to %count step %c1 iter_args(%acc = %f0) -> (f32) {
    %x = memref.load %in[%i, %lane] : memref<64x32xf32>
    %next = arith.addf %acc, %x : f32
    scf.yield %next : f32
  } {motif.loop = "i", motif.pipeline = 3 : i64, motif.unroll = 2 : i64, motif.order = "recurrence", motif.tail = "guard"}
  memref.store %sum, %out[%lane] : memref<32xf32>
  func.return
}
// CHECK-LABEL: func.func @queue_only
// CHECK: %lane = "gpu.thread_id"() <{dimension = #gpu<dim x>}> {motif.range = array<i64: 0, 31>} : () -> index
// CHECK-NEXT: %f0 = arith.constant 0.000000e+00 : f32
// CHECK-NEXT: %c0 = arith.constant 0 : index
// CHECK-NEXT: %c1 = arith.constant 1 : index
// CHECK-NEXT: %0 = arith.constant 2 : index
// CHECK-NEXT: %1 = arith.cmpi slt, %0, %count : index
// CHECK-NEXT: %sum = scf.if %1 -> (f32) {
// CHECK-NEXT: %x = memref.load %in[%c0, %lane] : memref<64x32xf32>
// CHECK-NEXT: %2 = arith.constant 1 : index
// CHECK-NEXT: %x_1 = memref.load %in[%2, %lane] : memref<64x32xf32>
// CHECK-NEXT: %3 = arith.constant -2 : index
// CHECK-NEXT: %4 = arith.addi %count, %3 : index
// CHECK-NEXT: %5 = arith.constant 2 : index
// CHECK-NEXT: %6 = arith.remui %4, %5 : index
// CHECK-NEXT: %7 = arith.subi %count, %6 : index
// CHECK-NEXT: %8 = arith.constant 2 : index
// CHECK-NEXT: %9, %10, %11 = scf.for %i = %0 to %7 step %8 iter_args(%acc = %f0, %x_2 = %x, %x_3 = %x_1) -> (f32, f32, f32) {
// CHECK-NEXT: %12 = arith.constant 1 : index
// CHECK-NEXT: %i_1 = arith.addi %i, %12 {motif.range = array<i64: 2, 63>} : index
// CHECK-NEXT: %next = arith.addf %acc, %x_2 : f32
// CHECK-NEXT: "motif.fence"() : () -> ()
// CHECK-NEXT: %x_4 = memref.load %in[%i, %lane] : memref<64x32xf32>
// CHECK-NEXT: "motif.fence"() : () -> ()
// CHECK-NEXT: %next_1 = arith.addf %next, %x_3 : f32
// CHECK-NEXT: "motif.fence"() : () -> ()
// CHECK-NEXT: %x_5 = memref.load %in[%i_1, %lane] : memref<64x32xf32>
// CHECK-NEXT: scf.yield %next_1, %x_4, %x_5 : f32, f32, f32
// CHECK-NEXT: } {motif.loop = "i", motif.form = "steady"}
// CHECK-NEXT: %13 = arith.cmpi slt, %7, %count : index
// CHECK-NEXT: %14, %15, %16 = scf.if %13 -> (f32, f32, f32) {
// CHECK-NEXT: %x_6 = memref.load %in[%7, %lane] : memref<64x32xf32>
// CHECK-NEXT: %next_2 = arith.addf %9, %10 : f32
// CHECK-NEXT: scf.yield %next_2, %11, %x_6 : f32, f32, f32
// CHECK-NEXT: } else {
// CHECK-NEXT: scf.yield %9, %10, %11 : f32, f32, f32
// CHECK: %next_3 = arith.addf %14, %15 : f32
// CHECK-NEXT: %next_4 = arith.addf %next_3, %16 : f32
// CHECK-NEXT: scf.yield %next_4 : f32
// CHECK-NEXT: } else {
// CHECK-NEXT: %sum_1 = scf.for %i_2 = %c0 to %count step %c1 iter_args(%acc_1 = %f0) -> (f32) {
// CHECK-NEXT: %x_7 = memref.load %in[%i_2, %lane] : memref<64x32xf32>
// CHECK-NEXT: %next_5 = arith.addf %acc_1, %x_7 : f32
// CHECK-NEXT: scf.yield %next_5 : f32
// CHECK-NEXT: } {motif.loop = "i", motif.form = "serial"}
// CHECK-NEXT: scf.yield %sum_1 : f32
// CHECK: memref.store %sum, %out[%lane] : memref<32xf32>
// CHECK-NEXT: func.return
// CHECK: row ordinal=0 loop=i outcome=pipelined depth=3 queue_records=2 values_per_record=1 read_count=1
// CHECK-NEXT: row ordinal=0 loop=i position=0 op=memref.load stage=producer iteration_lookahead=2
// CHECK-NEXT: row ordinal=0 loop=i position=1 op=arith.addf stage=consumer iteration_lookahead=0
// CHECK-NEXT: row ordinal=0 loop=i outcome=stripmined policy=factor factor=2 order=recurrence trip_count=unresolved tail=guard step=1
