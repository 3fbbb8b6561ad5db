// Linear: a test before each copy but the first.
func.func @linear(%count: index {motif.range = array<i64: 0, 64>}, %in: memref<64x32xf32> {motif.noalias},
               %out: memref<32xf32> {motif.noalias}) attributes {motif.kernel, motif.workgroup_size = array<i64: 32, 1, 1>} {
  %lane = "gpu.thread_id"() <{dimension = #gpu<dim x>}> {motif.range = array<i64: 0, 31>} : () -> index
  %f0 = arith.constant 0.0 : f32
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %sum = scf.for %i = %c0 to %count step %c1 iter_args(%acc = %f0) -> (f32) {
    %x = memref.load %in[%i, %lane] : memref<64x32xf32>
    %next = arith.addf %acc, %x : f32
    scf.yield %next : f32
  } {motif.loop = "i", motif.unroll = 3 : i64}
  memref.store %sum, %out[%lane] : memref<32xf32>
  func.return
}
// CHECK-LABEL: func.func @linear
// CHECK: %lane = "gpu.thread_id"() <{dimension = #gpu<dim x>}> {motif.range = array<i64: 0, 31>} : () -> index
// CHECK-NEXT: %f0 = arith.constant 0.000000e+00 : f32
// CHECK-NEXT: %c0 = arith.constant 0 : index
// CHECK-NEXT: %0 = arith.constant 3 : index
// CHECK-NEXT: %sum = scf.for %i = %c0 to %count step %0 iter_args(%acc = %f0) -> (f32) {
// CHECK-NEXT: %x = memref.load %in[%i, %lane] : memref<64x32xf32>
// CHECK-NEXT: %next = arith.addf %acc, %x : f32
// CHECK-NEXT: %1 = arith.subi %count, %i : index
// CHECK-NEXT: %2 = arith.constant 1 : index
// CHECK-NEXT: %3 = arith.cmpi ult, %2, %1 : index
// CHECK-NEXT: %acc_1 = scf.if %3 -> (f32) {
// CHECK-NEXT: %4 = arith.constant 1 : index
// CHECK-NEXT: %i_1 = arith.addi %i, %4 {motif.range = array<i64: 0, 63>} : index
// CHECK-NEXT: %x_1 = memref.load %in[%i_1, %lane] : memref<64x32xf32>
// CHECK-NEXT: %next_1 = arith.addf %next, %x_1 : f32
// CHECK-NEXT: scf.yield %next_1 : f32
// CHECK-NEXT: } else {
// CHECK-NEXT: scf.yield %next : f32
// CHECK: %5 = arith.constant 2 : index
// CHECK-NEXT: %6 = arith.cmpi ult, %5, %1 : index
// CHECK-NEXT: %acc_2 = scf.if %6 -> (f32) {
// CHECK-NEXT: %7 = arith.constant 2 : index
// CHECK-NEXT: %i_2 = arith.addi %i, %7 {motif.range = array<i64: 0, 63>} : index
// CHECK-NEXT: %x_2 = memref.load %in[%i_2, %lane] : memref<64x32xf32>
// CHECK-NEXT: %next_2 = arith.addf %acc_1, %x_2 : f32
// CHECK-NEXT: scf.yield %next_2 : f32
// CHECK-NEXT: } else {
// CHECK-NEXT: scf.yield %acc_1 : f32
// CHECK: scf.yield %acc_2 : f32
// CHECK-NEXT: } {motif.loop = "i"}
// CHECK-NEXT: memref.store %sum, %out[%lane] : memref<32xf32>
// CHECK-NEXT: func.return
// CHECK: row ordinal=0 loop=i outcome=stripmined policy=factor factor=3 order=linear trip_count=unresolved tail=guard step=1

// -----
// Linear with its rest in a loop of its own.
func.func @cut(%count: index {motif.range = array<i64: 0, 64>}, %in: memref<64x32xf32> {motif.noalias},
               %out: memref<32xf32> {motif.noalias}) attributes {motif.kernel, motif.workgroup_size = array<i64: 32, 1, 1>} {
  %lane = "gpu.thread_id"() <{dimension = #gpu<dim x>}> {motif.range = array<i64: 0, 31>} : () -> index
  %f0 = arith.constant 0.0 : f32
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %sum = scf.for %i = %c0 to %count step %c1 iter_args(%acc = %f0) -> (f32) {
    %x = memref.load %in[%i, %lane] : memref<64x32xf32>
    %next = arith.addf %acc, %x : f32
    scf.yield %next : f32
  } {motif.loop = "i", motif.unroll = 2 : i64, motif.order = "linear", motif.tail = "cut"}
  memref.store %sum, %out[%lane] : memref<32xf32>
  func.return
}
// CHECK-LABEL: func.func @cut
// CHECK: %lane = "gpu.thread_id"() <{dimension = #gpu<dim x>}> {motif.range = array<i64: 0, 31>} : () -> index
// CHECK-NEXT: %f0 = arith.constant 0.000000e+00 : f32
// CHECK-NEXT: %c0 = arith.constant 0 : index
// CHECK-NEXT: %c1 = arith.constant 1 : index
// CHECK-NEXT: %0 = arith.maxsi %count, %c0 : index
// CHECK-NEXT: %1 = arith.constant 2 : index
// CHECK-NEXT: %2 = arith.remui %0, %1 : index
// CHECK-NEXT: %3 = arith.subi %0, %2 : index
// CHECK-NEXT: %4 = arith.constant 2 : index
// CHECK-NEXT: %5 = scf.for %i = %c0 to %3 step %4 iter_args(%acc = %f0) -> (f32) {
// CHECK-NEXT: %6 = arith.constant 1 : index
// CHECK-NEXT: %i_1 = arith.addi %i, %6 {motif.range = array<i64: 0, 63>} : index
// CHECK-NEXT: %x = memref.load %in[%i, %lane] : memref<64x32xf32>
// CHECK-NEXT: %next = arith.addf %acc, %x : f32
// CHECK-NEXT: %x_1 = memref.load %in[%i_1, %lane] : memref<64x32xf32>
// CHECK-NEXT: %next_1 = arith.addf %next, %x_1 : f32
// CHECK-NEXT: scf.yield %next_1 : f32
// CHECK-NEXT: } {motif.loop = "i"}
// CHECK-NEXT: %sum = scf.for %i_2 = %3 to %count step %c1 iter_args(%acc_1 = %5) -> (f32) {
// CHECK-NEXT: %x_2 = memref.load %in[%i_2, %lane] : memref<64x32xf32>
// CHECK-NEXT: %next_2 = arith.addf %acc_1, %x_2 : f32
// CHECK-NEXT: scf.yield %next_2 : f32
// CHECK-NEXT: } {motif.loop = "i", motif.form = "remainder"}
// CHECK-NEXT: memref.store %sum, %out[%lane] : memref<32xf32>
// CHECK-NEXT: func.return
// CHECK: row ordinal=0 loop=i outcome=stripmined policy=factor factor=2 order=linear trip_count=unresolved tail=cut step=1

// -----
// Interleaved: the same op of all copies side by side, the chain in its order.
func.func @interleaved(%count: index {motif.range = array<i64: 0, 64>}, %in: memref<64x32xf32> {motif.noalias},
               %out: memref<32xf32> {motif.noalias}) attributes {motif.kernel, motif.workgroup_size = array<i64: 32, 1, 1>} {
  %lane = "gpu.thread_id"() <{dimension = #gpu<dim x>}> {motif.range = array<i64: 0, 31>} : () -> index
  %f0 = arith.constant 0.0 : f32
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %sum = scf.for %i = %c0 to %count step %c1 iter_args(%acc = %f0) -> (f32) {
    %x = memref.load %in[%i, %lane] : memref<64x32xf32>
    %next = arith.addf %acc, %x : f32
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
// CHECK-NEXT: %0 = arith.maxsi %count, %c0 : index
// CHECK-NEXT: %1 = arith.constant 2 : index
// CHECK-NEXT: %2 = arith.remui %0, %1 : index
// CHECK-NEXT: %3 = arith.subi %0, %2 : index
// CHECK-NEXT: %4 = arith.constant 2 : index
// CHECK-NEXT: %5 = scf.for %i = %c0 to %3 step %4 iter_args(%acc = %f0) -> (f32) {
// CHECK-NEXT: %6 = arith.constant 1 : index
// CHECK-NEXT: %i_1 = arith.addi %i, %6 {motif.range = array<i64: 0, 63>} : index
// CHECK-NEXT: %x = memref.load %in[%i, %lane] : memref<64x32xf32>
// CHECK-NEXT: %x_1 = memref.load %in[%i_1, %lane] : memref<64x32xf32>
// CHECK-NEXT: %next = arith.addf %acc, %x : f32
// CHECK-NEXT: %next_1 = arith.addf %next, %x_1 : f32
// CHECK-NEXT: scf.yield %next_1 : f32
// CHECK-NEXT: } {motif.loop = "i"}
// CHECK-NEXT: %sum = scf.for %i_2 = %3 to %count step %c1 iter_args(%acc_1 = %5) -> (f32) {
// CHECK-NEXT: %x_2 = memref.load %in[%i_2, %lane] : memref<64x32xf32>
// CHECK-NEXT: %next_2 = arith.addf %acc_1, %x_2 : f32
// CHECK-NEXT: scf.yield %next_2 : f32
// CHECK-NEXT: } {motif.loop = "i", motif.form = "remainder"}
// CHECK-NEXT: memref.store %sum, %out[%lane] : memref<32xf32>
// CHECK-NEXT: func.return
// CHECK: row ordinal=0 loop=i outcome=stripmined policy=factor factor=2 order=interleaved trip_count=unresolved tail=cut step=1

// -----
// In full, from a lower bound that is not known: the trip count is.
func.func @full(%count: index {motif.range = array<i64: 0, 64>}, %in: memref<64x32xf32> {motif.noalias},
               %out: memref<32xf32> {motif.noalias}) attributes {motif.kernel, motif.workgroup_size = array<i64: 32, 1, 1>} {
  %lane = "gpu.thread_id"() <{dimension = #gpu<dim x>}> {motif.range = array<i64: 0, 31>} : () -> index
  %f0 = arith.constant 0.0 : f32
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %end = arith.addi %count, %c2 : index
  %sum = scf.for %i = %count to %end step %c1 iter_args(%acc = %f0) -> (f32) {
    %x = memref.load %in[%i, %lane] : memref<64x32xf32>
    %next = arith.addf %acc, %x : f32
    scf.yield %next : f32
  } {motif.loop = "i", motif.unroll = "full"}
  memref.store %sum, %out[%lane] : memref<32xf32>
  func.return
}
// CHECK-LABEL: func.func @full
// CHECK: %lane = "gpu.thread_id"() <{dimension = #gpu<dim x>}> {motif.range = array<i64: 0, 31>} : () -> index
// CHECK-NEXT: %f0 = arith.constant 0.000000e+00 : f32
// CHECK-NEXT: %0 = arith.constant 1 : index
// CHECK-NEXT: %i = arith.addi %count, %0 {motif.range = array<i64: 0, 65>} : index
// CHECK-NEXT: %x = memref.load %in[%count, %lane] : memref<64x32xf32>
// CHECK-NEXT: %next = arith.addf %f0, %x : f32
// CHECK-NEXT: %x_1 = memref.load %in[%i, %lane] : memref<64x32xf32>
// CHECK-NEXT: %next_1 = arith.addf %next, %x_1 : f32
// CHECK-NEXT: memref.store %next_1, %out[%lane] : memref<32xf32>
// CHECK-NEXT: func.return
// CHECK: row ordinal=0 loop=i outcome=unrolled policy=full factor=2 order=linear trip_count=exact tail=none step=1 trips=2

// -----
// A factor of 1 clears the policy.
func.func @cleared(%count: index {motif.range = array<i64: 0, 64>}, %in: memref<64x32xf32> {motif.noalias},
               %out: memref<32xf32> {motif.noalias}) attributes {motif.kernel, motif.workgroup_size = array<i64: 32, 1, 1>} {
  %lane = "gpu.thread_id"() <{dimension = #gpu<dim x>}> {motif.range = array<i64: 0, 31>} : () -> index
  %f0 = arith.constant 0.0 : f32
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %sum = scf.for %i = %c0 to %count step %c1 iter_args(%acc = %f0) -> (f32) {
    %x = memref.load %in[%i, %lane] : memref<64x32xf32>
    %next = arith.addf %acc, %x : f32
    scf.yield %next : f32
  } {motif.loop = "i", motif.unroll = 1 : i64, motif.order = "recurrence"}
  memref.store %sum, %out[%lane] : memref<32xf32>
  func.return
}
// CHECK-LABEL: func.func @cleared
// CHECK: %lane = "gpu.thread_id"() <{dimension = #gpu<dim x>}> {motif.range = array<i64: 0, 31>} : () -> index
// CHECK-NEXT: %f0 = arith.constant 0.000000e+00 : f32
// CHECK-NEXT: %c0 = arith.constant 0 : index
// CHECK-NEXT: %c1 = arith.constant 1 : index
// CHECK-NEXT: %sum = scf.for %i = %c0 to %count step %c1 iter_args(%acc = %f0) -> (f32) {
// CHECK-NEXT: %x = memref.load %in[%i, %lane] : memref<64x32xf32>
// CHECK-NEXT: %next = arith.addf %acc, %x : f32
// CHECK-NEXT: scf.yield %next : f32
// CHECK-NEXT: } {motif.loop = "i"}
// CHECK-NEXT: memref.store %sum, %out[%lane] : memref<32xf32>
// CHECK-NEXT: func.return
// CHECK: row ordinal=0 loop=i outcome=cleared policy=factor factor=1 order=recurrence trip_count=unresolved tail=none reason=factor <= 1

// -----
// A multiple of the factor has no rest.
func.func @whole(%count: index {motif.range = array<i64: 0, 64>}, %in: memref<64x32xf32> {motif.noalias},
               %out: memref<32xf32> {motif.noalias}) attributes {motif.kernel, motif.workgroup_size = array<i64: 32, 1, 1>} {
  %lane = "gpu.thread_id"() <{dimension = #gpu<dim x>}> {motif.range = array<i64: 0, 31>} : () -> index
  %f0 = arith.constant 0.0 : f32
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %even = arith.muli %count, %c2 : index
  %sum = scf.for %i = %c0 to %even step %c1 iter_args(%acc = %f0) -> (f32) {
    %x = memref.load %in[%i, %lane] : memref<64x32xf32>
    %next = arith.addf %acc, %x : f32
    scf.yield %next : f32
  } {motif.loop = "i", motif.unroll = 2 : i64, motif.order = "interleaved"}
  memref.store %sum, %out[%lane] : memref<32xf32>
  func.return
}
// CHECK-LABEL: func.func @whole
// CHECK: %lane = "gpu.thread_id"() <{dimension = #gpu<dim x>}> {motif.range = array<i64: 0, 31>} : () -> index
// CHECK-NEXT: %f0 = arith.constant 0.000000e+00 : f32
// CHECK-NEXT: %c0 = arith.constant 0 : index
// CHECK-NEXT: %c2 = arith.constant 2 : index
// CHECK-NEXT: %even = arith.muli %count, %c2 : index
// CHECK-NEXT: %0 = arith.constant 2 : index
// CHECK-NEXT: %sum = scf.for %i = %c0 to %even step %0 iter_args(%acc = %f0) -> (f32) {
// CHECK-NEXT: %1 = arith.constant 1 : index
// CHECK-NEXT: %i_1 = arith.addi %i, %1 {motif.range = array<i64: 0, 127>} : index
// CHECK-NEXT: %x = memref.load %in[%i, %lane] : memref<64x32xf32>
// CHECK-NEXT: %x_1 = memref.load %in[%i_1, %lane] : memref<64x32xf32>
// CHECK-NEXT: %next = arith.addf %acc, %x : f32
// CHECK-NEXT: %next_1 = arith.addf %next, %x_1 : f32
// CHECK-NEXT: scf.yield %next_1 : f32
// CHECK-NEXT: } {motif.loop = "i"}
// CHECK-NEXT: memref.store %sum, %out[%lane] : memref<32xf32>
// CHECK-NEXT: func.return
// CHECK: row ordinal=0 loop=i outcome=stripmined policy=factor factor=2 order=interleaved trip_count=unresolved tail=none step=1
