// refused: a while is nearer
// high: %n
// policy: motif.unroll = 1 : i64
%w, %t = scf.while (%p = %i, %v = %acc) : (index, f32) -> (index, f32) {
  %go = arith.cmpi slt, %p, %c2 : index
  scf.condition(%go) %p, %v : index, f32
} do {
^bb0(%p: index, %v: f32):
  %q = arith.cmpi slt, %p, %c1 : index
  %s = scf.if %q -> (f32) {
    %x = memref.load %a[%i] : memref<16xf32>
    %r = arith.addf %v, %x : f32
    scf.yield %r : f32
  } else {
    scf.yield %v : f32
  } {motif.split}  HERE
  %u = arith.addi %p, %c1 : index
  scf.yield %u, %s : index, f32
}
scf.yield %t : f32

// accepted: under another conditional
// high: %n
// policy: motif.unroll = 1 : i64
%go = arith.cmpi slt, %c1, %n : index
%t = scf.if %go -> (f32) {
  %q = arith.cmpi slt, %i, %base : index
  %s = scf.if %q -> (f32) {
    %x = memref.load %a[%i] : memref<16xf32>
    %r = arith.addf %acc, %x : f32
    scf.yield %r : f32
  } else {
    scf.yield %acc : f32
  } {motif.split}
  scf.yield %s : f32
} else {
  scf.yield %acc : f32
}
scf.yield %t : f32
