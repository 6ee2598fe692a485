//! The local repository (gix): merge bases, merged tree, write-set, blobs, attributes.
