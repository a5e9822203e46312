package chat

// ObjectOf is objectOf, for a test.
var ObjectOf = objectOf
