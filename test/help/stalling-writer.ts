// The writer's thread on a disk that can be stalled. The order matters: the disk is there before the writer listens.
import './stalling-disk.ts'
import '../../src/app/writer.ts'
