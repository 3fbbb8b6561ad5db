// A loop with open bounds: both parts of the guard, start-up, steady loop, drain, and the serial side.
func.func @open(%low: index, %high: index, %in: memref<?xf32>, %out: memref<?xf32>) attributes {motif.kernel} {
  %f0 = arith.constant 0.0 : f32
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %sum = scf.for %i = %low to %high step %c1 iter_args(%acc = %f0) -> (f32) {
    %x = memref.load %in[%i] : memref<?xf32>
    %next = arith.addf %acc, %x : f32
    scf.yield %next : f32
  } {motif.loop = "i", motif.pipeline = 3 : i64}
  memref.store %sum, %out[%c0] : memref<?xf32>
  func.return
}
// CHECK-LABEL: func.func @open
// CHECK: %f0 = arith.constant 0.000000e+00 : f32
// CHECK-NEXT: %c0 = arith.constant 0 : index
// CHECK-NEXT: %c1 = arith.constant 1 : index
// CHECK-NEXT: %0 = arith.constant 9223372036854775805 : index
// CHECK-NEXT: %1 = arith.cmpi sle, %low, %0 : index
// CHECK-NEXT: %2 = arith.minsi %low, %0 : index
// CHECK-NEXT: %3 = arith.constant 2 : index
// CHECK-NEXT: %begin = arith.addi %2, %3 : index
// CHECK-NEXT: %4 = arith.cmpi slt, %begin, %high : index
// CHECK-NEXT: %5 = arith.andi %1, %4 : i1
// CHECK-NEXT: %sum = scf.if %5 -> (f32) {
// CHECK-NEXT: %x = memref.load %in[%low] : memref<?xf32>
// CHECK-NEXT: %6 = arith.constant 1 : index
// CHECK-NEXT: %i = arith.addi %low, %6 : index
// CHECK-NEXT: %x_1 = memref.load %in[%i] : memref<?xf32>
// CHECK-NEXT: %7, %8, %9 = scf.for %i_1 = %begin to %high step %c1 iter_args(%acc = %f0, %x_2 = %x, %x_3 = %x_1) -> (f32, f32, f32) {
// CHECK-NEXT: %x_4 = memref.load %in[%i_1] : memref<?xf32>
// CHECK-NEXT: %next = arith.addf %acc, %x_2 : f32
// CHECK-NEXT: scf.yield %next, %x_3, %x_4 : f32, f32, f32
// CHECK-NEXT: } {motif.loop = "i", motif.form = "steady"}
// CHECK-NEXT: %next_1 = arith.addf %7, %8 : f32
// CHECK-NEXT: %next_2 = arith.addf %next_1, %9 : f32
// CHECK-NEXT: scf.yield %next_2 : f32
// CHECK-NEXT: } else {
// CHECK-NEXT: %sum_1 = scf.for %i_2 = %low to %high step %c1 iter_args(%acc_1 = %f0) -> (f32) {
// CHECK-NEXT: %x_5 = memref.load %in[%i_2] : memref<?xf32>
// CHECK-NEXT: %next_3 = arith.addf %acc_1, %x_5 : f32
// CHECK-NEXT: scf.yield %next_3 : f32
// CHECK-NEXT: } {motif.loop = "i", motif.form = "serial"}
// CHECK-NEXT: scf.yield %sum_1 : f32
// CHECK: memref.store %sum, %out[%c0] : memref<?xf32>
// CHECK-NEXT: func.return
// CHECK: row ordinal=0 loop=i outcome=pipelined depth=3 queue_records=2 values_per_record=1 read_count=1
// CHECK-NEXT: row ordinal=0 loop=i position=0 op=memref.load stage=producer iteration_lookahead=2
// CHECK-NEXT: row ordinal=0 loop=i position=1 op=arith.addf stage=consumer iteration_lookahead=0

// -----
// A known lower bound cannot overflow: one comparison is left.
func.func @from_zero(%high: index, %in: memref<?xf32>, %out: memref<?xf32>) attributes {motif.kernel} {
  %f0 = arith.constant 0.0 : f32
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %sum = scf.for %i = %c0 to %high step %c1 iter_args(%acc = %f0) -> (f32) {
    %x = memref.load %in[%i] : memref<?xf32>
    %next = arith.addf %acc, %x : f32
    scf.yield %next : f32
  } {motif.loop = "i", motif.pipeline = 2 : i64}
  memref.store %sum, %out[%c0] : memref<?xf32>
  func.return
}
// CHECK-LABEL: func.func @from_zero
// CHECK: %f0 = arith.constant 0.000000e+00 : f32
// CHECK-NEXT: %c0 = arith.constant 0 : index
// CHECK-NEXT: %c1 = arith.constant 1 : index
// CHECK-NEXT: %0 = arith.constant 1 : index
// CHECK-NEXT: %1 = arith.cmpi slt, %0, %high : index
// CHECK-NEXT: %sum = scf.if %1 -> (f32) {
// CHECK-NEXT: %x = memref.load %in[%c0] : memref<?xf32>
// CHECK-NEXT: %2, %3 = scf.for %i = %0 to %high step %c1 iter_args(%acc = %f0, %x_1 = %x) -> (f32, f32) {
// CHECK-NEXT: %x_2 = memref.load %in[%i] : memref<?xf32>
// CHECK-NEXT: %next = arith.addf %acc, %x_1 : f32
// CHECK-NEXT: scf.yield %next, %x_2 : f32, f32
// CHECK-NEXT: } {motif.loop = "i", motif.form = "steady"}
// CHECK-NEXT: %next_1 = arith.addf %2, %3 : f32
// CHECK-NEXT: scf.yield %next_1 : f32
// CHECK-NEXT: } else {
// CHECK-NEXT: %sum_1 = scf.for %i_1 = %c0 to %high step %c1 iter_args(%acc_1 = %f0) -> (f32) {
// CHECK-NEXT: %x_3 = memref.load %in[%i_1] : memref<?xf32>
// CHECK-NEXT: %next_2 = arith.addf %acc_1, %x_3 : f32
// CHECK-NEXT: scf.yield %next_2 : f32
// CHECK-NEXT: } {motif.loop = "i", motif.form = "serial"}
// CHECK-NEXT: scf.yield %sum_1 : f32
// CHECK: memref.store %sum, %out[%c0] : memref<?xf32>
// CHECK-NEXT: func.return
// CHECK: row ordinal=0 loop=i outcome=pipelined depth=2 queue_records=1 values_per_record=1 read_count=1
// CHECK-NEXT: row ordinal=0 loop=i position=0 op=memref.load stage=producer iteration_lookahead=1
// CHECK-NEXT: row ordinal=0 loop=i position=1 op=arith.addf stage=consumer iteration_lookahead=0

// -----
// Constant bounds that are long enough: no guard, no serial side.
func.func @long(%in: memref<?xf32>, %out: memref<?xf32>) attributes {motif.kernel} {
  %f0 = arith.constant 0.0 : f32
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c3 = arith.constant 3 : index
  %sum = scf.for %i = %c0 to %c3 step %c1 iter_args(%acc = %f0) -> (f32) {
    %x = memref.load %in[%i] : memref<?xf32>
    %next = arith.addf %acc, %x : f32
    scf.yield %next : f32
  } {motif.loop = "i", motif.pipeline = 3 : i64}
  memref.store %sum, %out[%c0] : memref<?xf32>
  func.return
}
// CHECK-LABEL: func.func @long
// CHECK: %f0 = arith.constant 0.000000e+00 : f32
// CHECK-NEXT: %c0 = arith.constant 0 : index
// CHECK-NEXT: %0 = arith.constant 2 : index
// CHECK-NEXT: %x = memref.load %in[%c0] : memref<?xf32>
// CHECK-NEXT: %1 = arith.constant 1 : index
// CHECK-NEXT: %x_1 = memref.load %in[%1] : memref<?xf32>
// CHECK-NEXT: %x_2 = memref.load %in[%0] : memref<?xf32>
// CHECK-NEXT: %next = arith.addf %f0, %x : f32
// CHECK-NEXT: %next_1 = arith.addf %next, %x_1 : f32
// CHECK-NEXT: %next_2 = arith.addf %next_1, %x_2 : f32
// CHECK-NEXT: memref.store %next_2, %out[%c0] : memref<?xf32>
// CHECK-NEXT: func.return
// CHECK: row ordinal=0 loop=i outcome=pipelined depth=3 queue_records=2 values_per_record=1 read_count=1
// CHECK-NEXT: row ordinal=0 loop=i position=0 op=memref.load stage=producer iteration_lookahead=2
// CHECK-NEXT: row ordinal=0 loop=i position=1 op=arith.addf stage=consumer iteration_lookahead=0

// -----
// Constant bounds that are too short: the serial loop alone.
func.func @short(%in: memref<?xf32>, %out: memref<?xf32>) attributes {motif.kernel} {
  %f0 = arith.constant 0.0 : f32
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %sum = scf.for %i = %c0 to %c2 step %c1 iter_args(%acc = %f0) -> (f32) {
    %x = memref.load %in[%i] : memref<?xf32>
    %next = arith.addf %acc, %x : f32
    scf.yield %next : f32
  } {motif.loop = "i", motif.pipeline = 3 : i64}
  memref.store %sum, %out[%c0] : memref<?xf32>
  func.return
}
// CHECK-LABEL: func.func @short
// CHECK: %f0 = arith.constant 0.000000e+00 : f32
// CHECK-NEXT: %c0 = arith.constant 0 : index
// CHECK-NEXT: %c1 = arith.constant 1 : index
// CHECK-NEXT: %c2 = arith.constant 2 : index
// CHECK-NEXT: %sum = scf.for %i = %c0 to %c2 step %c1 iter_args(%acc = %f0) -> (f32) {
// CHECK-NEXT: %x = memref.load %in[%i] : memref<?xf32>
// CHECK-NEXT: %next = arith.addf %acc, %x : f32
// CHECK-NEXT: scf.yield %next : f32
// CHECK-NEXT: } {motif.loop = "i"}
// CHECK-NEXT: memref.store %sum, %out[%c0] : memref<?xf32>
// CHECK-NEXT: func.return
// CHECK: row ordinal=0 loop=i outcome=serial depth=3 queue_records=0 values_per_record=0 read_count=1 reason=never runs 3 iterations

// -----
// An open lower bound with an exact trip count: no guard either.
func.func @exact_count(%low: index {motif.range = array<i64: 0, 90>}, %in: memref<?xf32>, %out: memref<?xf32>)
    attributes {motif.kernel} {
  %f0 = arith.constant 0.0 : f32
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c8 = arith.constant 8 : index
  %high = arith.addi %low, %c8 : index
  %sum = scf.for %i = %low to %high step %c1 iter_args(%acc = %f0) -> (f32) {
    %x = memref.load %in[%i] : memref<?xf32>
    %next = arith.addf %acc, %x : f32
    scf.yield %next : f32
  } {motif.loop = "i", motif.pipeline = 2 : i64}
  memref.store %sum, %out[%c0] : memref<?xf32>
  func.return
}
// CHECK-LABEL: func.func @exact_count
// CHECK: %f0 = arith.constant 0.000000e+00 : f32
// CHECK-NEXT: %c0 = arith.constant 0 : index
// CHECK-NEXT: %c1 = arith.constant 1 : index
// CHECK-NEXT: %c8 = arith.constant 8 : index
// CHECK-NEXT: %high = arith.addi %low, %c8 : index
// CHECK-NEXT: %0 = arith.constant 1 : index
// CHECK-NEXT: %begin = arith.addi %low, %0 : index
// CHECK-NEXT: %x = memref.load %in[%low] : memref<?xf32>
// CHECK-NEXT: %1, %2 = scf.for %i = %begin to %high step %c1 iter_args(%acc = %f0, %x_1 = %x) -> (f32, f32) {
// CHECK-NEXT: %x_2 = memref.load %in[%i] : memref<?xf32>
// CHECK-NEXT: %next = arith.addf %acc, %x_1 : f32
// CHECK-NEXT: scf.yield %next, %x_2 : f32, f32
// CHECK-NEXT: } {motif.loop = "i", motif.form = "steady"}
// CHECK-NEXT: %next_1 = arith.addf %1, %2 : f32
// CHECK-NEXT: memref.store %next_1, %out[%c0] : memref<?xf32>
// CHECK-NEXT: func.return
// CHECK: row ordinal=0 loop=i outcome=pipelined depth=2 queue_records=1 values_per_record=1 read_count=1
// CHECK-NEXT: row ordinal=0 loop=i position=0 op=memref.load stage=producer iteration_lookahead=1
// CHECK-NEXT: row ordinal=0 loop=i position=1 op=arith.addf stage=consumer iteration_lookahead=0

// -----
// Depth 1 gives the loop without the policy, and a row.
func.func @serial(%high: index, %in: memref<?xf32>, %out: memref<?xf32>) attributes {motif.kernel} {
  %f0 = arith.constant 0.0 : f32
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %sum = scf.for %i = %c0 to %high step %c1 iter_args(%acc = %f0) -> (f32) {
    %x = memref.load %in[%i] : memref<?xf32>
    %next = arith.addf %acc, %x : f32
    scf.yield %next : f32
  } {motif.loop = "i", motif.pipeline = 1 : i64}
  memref.store %sum, %out[%c0] : memref<?xf32>
  func.return
}
// CHECK-LABEL: func.func @serial
// CHECK: %f0 = arith.constant 0.000000e+00 : f32
// CHECK-NEXT: %c0 = arith.constant 0 : index
// CHECK-NEXT: %c1 = arith.constant 1 : index
// CHECK-NEXT: %sum = scf.for %i = %c0 to %high step %c1 iter_args(%acc = %f0) -> (f32) {
// CHECK-NEXT: %x = memref.load %in[%i] : memref<?xf32>
// CHECK-NEXT: %next = arith.addf %acc, %x : f32
// CHECK-NEXT: scf.yield %next : f32
// CHECK-NEXT: } {motif.loop = "i"}
// CHECK-NEXT: memref.store %sum, %out[%c0] : memref<?xf32>
// CHECK-NEXT: func.return
// CHECK: row ordinal=0 loop=i outcome=serial depth=1 queue_records=0 values_per_record=0 read_count=1
