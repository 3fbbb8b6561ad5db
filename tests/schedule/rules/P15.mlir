// refused
%x = memref.load %a[%i] : memref<16xf32>
%w = scf.while (%v = %c0) : (index) -> index {
  %q = arith.cmpi slt, %v, %c2 : index
  scf.condition(%q) %v : index
} do {
  ^bb(%v: index):
  %z = arith.addi %v, %c1 : index
  scf.yield %z : index
}
%t = arith.addf %acc, %x : f32
scf.yield %t : f32

// accepted
// high: %n
%x = memref.load %a[%i] : memref<16xf32>
%w = scf.for %u = %c0 to %c2 step %c1 iter_args(%p = %acc) -> (f32) {
  %s = arith.mulf %p, %x : f32
  scf.yield %s : f32
}
%t = arith.addf %w, %x : f32
scf.yield %t : f32
