// refused
// high: %n
%y = memref.load %a[%i] : memref<16xf32>
%x = "motif.subgroup_reduce"(%y) <{kind = "add"}> : (f32) -> f32  HERE
%t = arith.addf %acc, %x : f32
scf.yield %t : f32

// refused: divergent
%x = memref.load %a[%i] : memref<16xf32>
%q = arith.cmpi slt, %lane, %c2 : index
%z = scf.if %q -> (f32) {
  %r = "motif.subgroup_reduce"(%x) <{kind = "add"}> : (f32) -> f32  HERE
  scf.yield %r : f32
} else {
  scf.yield %x : f32
}
%t = arith.addf %acc, %z : f32
scf.yield %t : f32

// accepted
%y = memref.load %a[%i] : memref<16xf32>
%x = "motif.subgroup_reduce"(%y) <{kind = "add"}> : (f32) -> f32
%t = arith.addf %acc, %x : f32
scf.yield %t : f32

// accepted: uniform tail
%q = arith.cmpi slt, %i, %n : index
%t = scf.if %q -> (f32) {
  %y = memref.load %a[%i] : memref<16xf32>
  %r = "motif.subgroup_reduce"(%y) <{kind = "add"}> : (f32) -> f32
  %s = arith.addf %acc, %r : f32
  scf.yield %s : f32
} else {
  scf.yield %acc : f32
}
scf.yield %t : f32
