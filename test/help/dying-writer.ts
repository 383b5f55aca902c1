// A writer's thread that ends by itself. The order matters: it has to get the writer's messages before the writer does.
import './dying-thread.ts'
import '../../src/app/writer.ts'
