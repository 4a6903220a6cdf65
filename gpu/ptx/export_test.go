// SPDX-License-Identifier: Apache-2.0

package ptx

// NewVarU32 declares a variable of any uniformity. Tests give it UniformBlock: what the builder
// refuses shows what it takes for equal in all threads of the block.
var NewVarU32 = newVar[U32]
