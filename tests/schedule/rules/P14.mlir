// refused
%q = arith.cmpi slt, %i, %c2 : index
%x = scf.if %q -> (f32) {
  %r = "motif.subgroup_reduce"(%i) <{kind = "max"}> : (index) -> index
  %y = memref.load %a[%r] : memref<16xf32>  HERE
  scf.yield %y : f32
} else {
  scf.yield %f0 : f32
}
%t = arith.addf %acc, %x : f32
scf.yield %t : f32

// refused: loop
%x = scf.for %u = %c0 to %c2 step %c1 iter_args(%p = %f0) -> (f32) {
  %y = memref.load %a[%u] : memref<16xf32>
  %r = "motif.subgroup_reduce"(%y) <{kind = "add"}> : (f32) -> f32  HERE
  %s = arith.addf %p, %r : f32
  scf.yield %s : f32
}
%t = arith.addf %acc, %x : f32
scf.yield %t : f32

// accepted
%q = arith.cmpi slt, %i, %c2 : index
%x = scf.if %q -> (f32) {
  %y = memref.load %a[%i] : memref<16xf32>
  %r = "motif.subgroup_reduce"(%y) <{kind = "add"}> : (f32) -> f32
  scf.yield %r : f32
} else {
  scf.yield %f0 : f32
}
%t = arith.addf %acc, %x : f32
scf.yield %t : f32
