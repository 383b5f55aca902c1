// The writer's thread on a disk that can be held. The order is what matters: the disk is there before the writer listens.
import './held-disk.ts'
import '../../src/writer.ts'
