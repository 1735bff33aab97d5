package ibv

const mutexWords = 5
