"""Real engines for tests of the AWS path: fetched once into the cache, started on loopback, gone with the tests."""
