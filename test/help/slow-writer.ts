// The writer's thread on a slow disk. The order matters: the disk is made slow before the writer listens.
import './slow-disk.ts'
import '../../src/app/writer.ts'
