// Loads run ahead, workgroup stores, barriers and reads keep their order in the consumer; one allocation.
// PASS: pipeline
func.func @two_stripes(%count: index {motif.range = array<i64: 0, 64>}, %in: memref<64x32xf32> {motif.noalias},
               %out: memref<32xf32> {motif.noalias}) attributes {motif.kernel, motif.workgroup_size = array<i64: 32, 1, 1>} {
  %lane = "gpu.thread_id"() <{dimension = #gpu<dim x>}> {motif.range = array<i64: 0, 31>} : () -> index
  %f0 = arith.constant 0.0 : f32
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c31 = arith.constant 31 : index
  %tile = memref.alloc() {motif.name = "tile"} : memref<2x32xf32, 3 : i32>
  %sum = scf.for %i = %c0 to %c31 step %c1 iter_args(%acc = %f0) -> (f32) {
    %x = memref.load %in[%i, %lane] : memref<64x32xf32>
    %j = arith.addi %i, %c1 : index
    %y = memref.load %in[%j, %lane] : memref<64x32xf32>
    memref.store %x, %tile[%c0, %lane] : memref<2x32xf32, 3 : i32>
    memref.store %y, %tile[%c1, %lane] : memref<2x32xf32, 3 : i32>
    "gpu.barrier"() : () -> ()
    %peer = arith.subi %c31, %lane : index
    %a = memref.load %tile[%c0, %peer] : memref<2x32xf32, 3 : i32>
    %b = memref.load %tile[%c1, %peer] : memref<2x32xf32, 3 : i32>
    "gpu.barrier"() : () -> ()
    %s = arith.addf %acc, %a : f32
    %next = arith.addf %s, %b : f32
    scf.yield %next : f32
  } {motif.loop = "i", motif.pipeline = 2 : i64}
  memref.store %sum, %out[%lane] : memref<32xf32>
  func.return
}
// CHECK-LABEL: func.func @two_stripes
// CHECK: %lane = "gpu.thread_id"() <{dimension = #gpu<dim x>}> {motif.range = array<i64: 0, 31>} : () -> index
// CHECK-NEXT: %f0 = arith.constant 0.000000e+00 : f32
// CHECK-NEXT: %c0 = arith.constant 0 : index
// CHECK-NEXT: %c1 = arith.constant 1 : index
// CHECK-NEXT: %c31 = arith.constant 31 : index
// CHECK-NEXT: %tile = memref.alloc() {motif.name = "tile"} : memref<2x32xf32, 3 : i32>
// CHECK-NEXT: %0 = arith.constant 1 : index
// CHECK-NEXT: %x = memref.load %in[%c0, %lane] : memref<64x32xf32>
// CHECK-NEXT: %j = arith.addi %c0, %c1 : index
// CHECK-NEXT: %y = memref.load %in[%j, %lane] : memref<64x32xf32>
// CHECK-NEXT: %1, %2, %3 = scf.for %i = %0 to %c31 step %c1 iter_args(%acc = %f0, %x_1 = %x, %y_1 = %y) -> (f32, f32, f32) {
// CHECK-NEXT: %x_2 = memref.load %in[%i, %lane] : memref<64x32xf32>
// CHECK-NEXT: %j_1 = arith.addi %i, %c1 : index
// CHECK-NEXT: %y_2 = memref.load %in[%j_1, %lane] : memref<64x32xf32>
// CHECK-NEXT: memref.store %x_1, %tile[%c0, %lane] : memref<2x32xf32, 3 : i32>
// CHECK-NEXT: memref.store %y_1, %tile[%c1, %lane] : memref<2x32xf32, 3 : i32>
// CHECK-NEXT: "gpu.barrier"() : () -> ()
// CHECK-NEXT: %peer = arith.subi %c31, %lane : index
// CHECK-NEXT: %a = memref.load %tile[%c0, %peer] : memref<2x32xf32, 3 : i32>
// CHECK-NEXT: %b = memref.load %tile[%c1, %peer] : memref<2x32xf32, 3 : i32>
// CHECK-NEXT: "gpu.barrier"() : () -> ()
// CHECK-NEXT: %s = arith.addf %acc, %a : f32
// CHECK-NEXT: %next = arith.addf %s, %b : f32
// CHECK-NEXT: scf.yield %next, %x_2, %y_2 : f32, f32, f32
// CHECK-NEXT: } {motif.loop = "i", motif.form = "steady"}
// CHECK-NEXT: memref.store %2, %tile[%c0, %lane] : memref<2x32xf32, 3 : i32>
// CHECK-NEXT: memref.store %3, %tile[%c1, %lane] : memref<2x32xf32, 3 : i32>
// CHECK-NEXT: "gpu.barrier"() : () -> ()
// CHECK-NEXT: %peer_1 = arith.subi %c31, %lane : index
// CHECK-NEXT: %a_1 = memref.load %tile[%c0, %peer_1] : memref<2x32xf32, 3 : i32>
// CHECK-NEXT: %b_1 = memref.load %tile[%c1, %peer_1] : memref<2x32xf32, 3 : i32>
// CHECK-NEXT: "gpu.barrier"() : () -> ()
// CHECK-NEXT: %s_1 = arith.addf %1, %a_1 : f32
// CHECK-NEXT: %next_1 = arith.addf %s_1, %b_1 : f32
// CHECK-NEXT: memref.store %next_1, %out[%lane] : memref<32xf32>
// CHECK-NEXT: func.return
// CHECK: row ordinal=0 loop=i outcome=pipelined depth=2 queue_records=1 values_per_record=2 read_count=2
// CHECK-NEXT: row ordinal=0 loop=i position=0 op=memref.load stage=producer iteration_lookahead=1
// CHECK-NEXT: row ordinal=0 loop=i position=1 op=arith.addi stage=producer iteration_lookahead=1
// CHECK-NEXT: row ordinal=0 loop=i position=2 op=memref.load stage=producer iteration_lookahead=1
// CHECK-NEXT: row ordinal=0 loop=i position=3 op=memref.store stage=consumer iteration_lookahead=0
// CHECK-NEXT: row ordinal=0 loop=i position=4 op=memref.store stage=consumer iteration_lookahead=0
// CHECK-NEXT: row ordinal=0 loop=i position=5 op=gpu.barrier stage=consumer iteration_lookahead=0
// CHECK-NEXT: row ordinal=0 loop=i position=6 op=arith.subi stage=consumer iteration_lookahead=0
// CHECK-NEXT: row ordinal=0 loop=i position=7 op=memref.load stage=consumer iteration_lookahead=0
// CHECK-NEXT: row ordinal=0 loop=i position=8 op=memref.load stage=consumer iteration_lookahead=0
// CHECK-NEXT: row ordinal=0 loop=i position=9 op=gpu.barrier stage=consumer iteration_lookahead=0
// CHECK-NEXT: row ordinal=0 loop=i position=10 op=arith.addf stage=consumer iteration_lookahead=0
// CHECK-NEXT: row ordinal=0 loop=i position=11 op=arith.addf stage=consumer iteration_lookahead=0

// -----
// A small inner loop of loads and workgroup stores is expanded before the cut.
// PASS: pipeline
func.func @expanded(%count: index {motif.range = array<i64: 0, 64>}, %in: memref<64x32xf32> {motif.noalias},
               %out: memref<32xf32> {motif.noalias}) attributes {motif.kernel, motif.workgroup_size = array<i64: 32, 1, 1>} {
  %lane = "gpu.thread_id"() <{dimension = #gpu<dim x>}> {motif.range = array<i64: 0, 31>} : () -> index
  %f0 = arith.constant 0.0 : f32
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %c31 = arith.constant 31 : index
  %tile = memref.alloc() {motif.name = "tile"} : memref<2x32xf32, 3 : i32>
  %sum = scf.for %i = %c0 to %c31 step %c1 iter_args(%acc = %f0) -> (f32) {
    scf.for %u = %c0 to %c2 step %c1 {
      %j = arith.addi %i, %u : index
      %x = memref.load %in[%j, %lane] : memref<64x32xf32>
      memref.store %x, %tile[%u, %lane] : memref<2x32xf32, 3 : i32>
    } {motif.loop = "u", motif.unroll = "full"}
    %a = memref.load %tile[%c1, %lane] : memref<2x32xf32, 3 : i32>
    %next = arith.addf %acc, %a : f32
    scf.yield %next : f32
  } {motif.loop = "i", motif.pipeline = 2 : i64}
  memref.store %sum, %out[%lane] : memref<32xf32>
  func.return
}
// CHECK-LABEL: func.func @expanded
// CHECK: %lane = "gpu.thread_id"() <{dimension = #gpu<dim x>}> {motif.range = array<i64: 0, 31>} : () -> index
// CHECK-NEXT: %f0 = arith.constant 0.000000e+00 : f32
// CHECK-NEXT: %c0 = arith.constant 0 : index
// CHECK-NEXT: %c1 = arith.constant 1 : index
// CHECK-NEXT: %c2 = arith.constant 2 : index
// CHECK-NEXT: %c31 = arith.constant 31 : index
// CHECK-NEXT: %tile = memref.alloc() {motif.name = "tile"} : memref<2x32xf32, 3 : i32>
// CHECK-NEXT: %0 = arith.constant 1 : index
// CHECK-NEXT: %1 = arith.constant 1 : index
// CHECK-NEXT: %j = arith.addi %c0, %c0 : index
// CHECK-NEXT: %x = memref.load %in[%j, %lane] : memref<64x32xf32>
// CHECK-NEXT: %j_1 = arith.addi %c0, %1 : index
// CHECK-NEXT: %x_1 = memref.load %in[%j_1, %lane] : memref<64x32xf32>
// CHECK-NEXT: %2, %3, %4 = scf.for %i = %0 to %c31 step %c1 iter_args(%acc = %f0, %x_2 = %x, %x_3 = %x_1) -> (f32, f32, f32) {
// CHECK-NEXT: %5 = arith.constant 1 : index
// CHECK-NEXT: %j_2 = arith.addi %i, %c0 : index
// CHECK-NEXT: %x_4 = memref.load %in[%j_2, %lane] : memref<64x32xf32>
// CHECK-NEXT: %j_3 = arith.addi %i, %5 : index
// CHECK-NEXT: %x_5 = memref.load %in[%j_3, %lane] : memref<64x32xf32>
// CHECK-NEXT: %6 = arith.constant 1 : index
// CHECK-NEXT: memref.store %x_2, %tile[%c0, %lane] : memref<2x32xf32, 3 : i32>
// CHECK-NEXT: memref.store %x_3, %tile[%6, %lane] : memref<2x32xf32, 3 : i32>
// CHECK-NEXT: %a = memref.load %tile[%c1, %lane] : memref<2x32xf32, 3 : i32>
// CHECK-NEXT: %next = arith.addf %acc, %a : f32
// CHECK-NEXT: scf.yield %next, %x_4, %x_5 : f32, f32, f32
// CHECK-NEXT: } {motif.loop = "i", motif.form = "steady"}
// CHECK-NEXT: %7 = arith.constant 1 : index
// CHECK-NEXT: memref.store %3, %tile[%c0, %lane] : memref<2x32xf32, 3 : i32>
// CHECK-NEXT: memref.store %4, %tile[%7, %lane] : memref<2x32xf32, 3 : i32>
// CHECK-NEXT: %a_1 = memref.load %tile[%c1, %lane] : memref<2x32xf32, 3 : i32>
// CHECK-NEXT: %next_1 = arith.addf %2, %a_1 : f32
// CHECK-NEXT: memref.store %next_1, %out[%lane] : memref<32xf32>
// CHECK-NEXT: func.return
// CHECK: row ordinal=1 loop=i outcome=pipelined depth=2 queue_records=1 values_per_record=2 read_count=2
// CHECK-NEXT: row ordinal=1 loop=i position=0 op=arith.constant stage=producer iteration_lookahead=1
// CHECK-NEXT: row ordinal=1 loop=i position=0 op=arith.constant stage=consumer iteration_lookahead=0
// CHECK-NEXT: row ordinal=1 loop=i position=1 op=arith.addi stage=producer iteration_lookahead=1
// CHECK-NEXT: row ordinal=1 loop=i position=2 op=memref.load stage=producer iteration_lookahead=1
// CHECK-NEXT: row ordinal=1 loop=i position=3 op=memref.store stage=consumer iteration_lookahead=0
// CHECK-NEXT: row ordinal=1 loop=i position=4 op=arith.addi stage=producer iteration_lookahead=1
// CHECK-NEXT: row ordinal=1 loop=i position=5 op=memref.load stage=producer iteration_lookahead=1
// CHECK-NEXT: row ordinal=1 loop=i position=6 op=memref.store stage=consumer iteration_lookahead=0
// CHECK-NEXT: row ordinal=1 loop=i position=7 op=memref.load stage=consumer iteration_lookahead=0
// CHECK-NEXT: row ordinal=1 loop=i position=8 op=arith.addf stage=consumer iteration_lookahead=0
// CHECK-NEXT: row ordinal=0 loop=u outcome=unrolled policy=full factor=2 order=linear trip_count=exact tail=none step=1 trips=2
