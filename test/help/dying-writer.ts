// The writer's thread that ends by itself. The order is what matters: it has to hear what the writer hears before that listens.
import './dying-thread.ts'
import '../../src/app/writer.ts'
