// The collective stays in the consumer; under recurrence each copy's collective keeps its place, the updates follow
// behind fences.
func.func @votes(%count: index {motif.range = array<i64: 0, 64>}, %in: memref<64x32xf32> {motif.noalias},
               %out: memref<32xf32> {motif.noalias}) attributes {motif.kernel, motif.workgroup_size = array<i64: 32, 1, 1>} {
  %lane = "gpu.thread_id"() <{dimension = #gpu<dim x>}> {motif.range = array<i64: 0, 31>} : () -> index
  %f0 = arith.constant 0.0 : f32
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c31 = arith.constant 31 : index
  %sum = scf.for %i = %c0 to %c31 step %c1 iter_args(%acc = %f0) -> (f32) {
    %x = memref.load %in[%i, %lane] : memref<64x32xf32>
    %r = "motif.subgroup_reduce"(%x) <{kind = "add"}> : (f32) -> f32
    %next = arith.addf %acc, %r : f32
    scf.yield %next : f32
  } {motif.loop = "i", motif.pipeline = 2 : i64, motif.unroll = 2 : i64, motif.order = "recurrence"}
  memref.store %sum, %out[%lane] : memref<32xf32>
  func.return
}
// CHECK-LABEL: func.func @votes
// CHECK: %lane = "gpu.thread_id"() <{dimension = #gpu<dim x>}> {motif.range = array<i64: 0, 31>} : () -> index
// CHECK-NEXT: %f0 = arith.constant 0.000000e+00 : f32
// CHECK-NEXT: %c0 = arith.constant 0 : index
// CHECK-NEXT: %c31 = arith.constant 31 : index
// CHECK-NEXT: %0 = arith.constant 1 : index
// CHECK-NEXT: %x = memref.load %in[%c0, %lane] : memref<64x32xf32>
// CHECK-NEXT: %1 = arith.constant 2 : index
// CHECK-NEXT: %2, %3 = scf.for %i = %0 to %c31 step %1 iter_args(%acc = %f0, %x_1 = %x) -> (f32, f32) {
// CHECK-NEXT: %4 = arith.constant 1 : index
// CHECK-NEXT: %i_1 = arith.addi %i, %4 {motif.range = array<i64: 1, 30>} : index
// CHECK-NEXT: %x_2 = memref.load %in[%i, %lane] : memref<64x32xf32>
// CHECK-NEXT: %r = "motif.subgroup_reduce"(%x_1) <{kind = "add"}> : (f32) -> f32
// CHECK-NEXT: "motif.fence"() : () -> ()
// CHECK-NEXT: %next = arith.addf %acc, %r : f32
// CHECK-NEXT: "motif.fence"() : () -> ()
// CHECK-NEXT: %x_3 = memref.load %in[%i_1, %lane] : memref<64x32xf32>
// CHECK-NEXT: "motif.fence"() : () -> ()
// CHECK-NEXT: %r_1 = "motif.subgroup_reduce"(%x_2) <{kind = "add"}> : (f32) -> f32
// CHECK-NEXT: %next_1 = arith.addf %next, %r_1 : f32
// CHECK-NEXT: scf.yield %next_1, %x_3 : f32, f32
// CHECK-NEXT: } {motif.loop = "i", motif.form = "steady"}
// CHECK-NEXT: %r_2 = "motif.subgroup_reduce"(%3) <{kind = "add"}> : (f32) -> f32
// CHECK-NEXT: %next_2 = arith.addf %2, %r_2 : f32
// CHECK-NEXT: memref.store %next_2, %out[%lane] : memref<32xf32>
// CHECK-NEXT: func.return
// CHECK: row ordinal=0 loop=i outcome=pipelined depth=2 queue_records=1 values_per_record=1 read_count=1
// CHECK-NEXT: row ordinal=0 loop=i position=0 op=memref.load stage=producer iteration_lookahead=1
// CHECK-NEXT: row ordinal=0 loop=i position=1 op=motif.subgroup_reduce stage=consumer iteration_lookahead=0
// CHECK-NEXT: row ordinal=0 loop=i position=2 op=arith.addf stage=consumer iteration_lookahead=0
// CHECK-NEXT: row ordinal=0 loop=i outcome=stripmined policy=factor factor=2 order=recurrence trip_count=exact tail=none step=1 trips=30

// -----
// Interleaved: no load of a later copy crosses the collective of an earlier one.
func.func @interleaved(%count: index {motif.range = array<i64: 0, 64>}, %in: memref<64x32xf32> {motif.noalias},
               %out: memref<32xf32> {motif.noalias}) attributes {motif.kernel, motif.workgroup_size = array<i64: 32, 1, 1>} {
  %lane = "gpu.thread_id"() <{dimension = #gpu<dim x>}> {motif.range = array<i64: 0, 31>} : () -> index
  %f0 = arith.constant 0.0 : f32
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c30 = arith.constant 30 : index
  %sum = scf.for %i = %c0 to %c30 step %c1 iter_args(%acc = %f0) -> (f32) {
    %x = memref.load %in[%i, %lane] : memref<64x32xf32>
    %r = "motif.subgroup_reduce"(%x) <{kind = "add"}> : (f32) -> f32
    %k = arith.addi %i, %c1 : index
    %y = memref.load %in[%k, %lane] : memref<64x32xf32>
    %z = arith.mulf %r, %y : f32
    %next = arith.addf %acc, %z : f32
    scf.yield %next : f32
  } {motif.loop = "i", motif.unroll = 2 : i64, motif.order = "interleaved"}
  memref.store %sum, %out[%lane] : memref<32xf32>
  func.return
}
// CHECK-LABEL: func.func @interleaved
// CHECK: %lane = "gpu.thread_id"() <{dimension = #gpu<dim x>}> {motif.range = array<i64: 0, 31>} : () -> index
// CHECK-NEXT: %f0 = arith.constant 0.000000e+00 : f32
// CHECK-NEXT: %c0 = arith.constant 0 : index
// CHECK-NEXT: %c1 = arith.constant 1 : index
// CHECK-NEXT: %c30 = arith.constant 30 : index
// CHECK-NEXT: %0 = arith.constant 2 : index
// CHECK-NEXT: %sum = scf.for %i = %c0 to %c30 step %0 iter_args(%acc = %f0) -> (f32) {
// CHECK-NEXT: %1 = arith.constant 1 : index
// CHECK-NEXT: %i_1 = arith.addi %i, %1 {motif.range = array<i64: 0, 29>} : index
// CHECK-NEXT: %x = memref.load %in[%i, %lane] : memref<64x32xf32>
// CHECK-NEXT: %r = "motif.subgroup_reduce"(%x) <{kind = "add"}> : (f32) -> f32
// CHECK-NEXT: %x_1 = memref.load %in[%i_1, %lane] : memref<64x32xf32>
// CHECK-NEXT: %r_1 = "motif.subgroup_reduce"(%x_1) <{kind = "add"}> : (f32) -> f32
// CHECK-NEXT: %k = arith.addi %i, %c1 : index
// CHECK-NEXT: %k_1 = arith.addi %i_1, %c1 : index
// CHECK-NEXT: %y = memref.load %in[%k, %lane] : memref<64x32xf32>
// CHECK-NEXT: %y_1 = memref.load %in[%k_1, %lane] : memref<64x32xf32>
// CHECK-NEXT: %z = arith.mulf %r, %y : f32
// CHECK-NEXT: %z_1 = arith.mulf %r_1, %y_1 : f32
// CHECK-NEXT: %next = arith.addf %acc, %z : f32
// CHECK-NEXT: %next_1 = arith.addf %next, %z_1 : f32
// CHECK-NEXT: scf.yield %next_1 : f32
// CHECK-NEXT: } {motif.loop = "i"}
// CHECK-NEXT: memref.store %sum, %out[%lane] : memref<32xf32>
// CHECK-NEXT: func.return
// CHECK: row ordinal=0 loop=i outcome=stripmined policy=factor factor=2 order=interleaved trip_count=exact tail=none step=1 trips=30
